package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/why"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

var program = clitest.Program{audit.New, replay.New, why.New}

func TestMain(m *testing.M) { program.TestMain(m) }

// filledShop makes a source table of paid orders on real servers, and a file whose sinks hold all of them. replaced has
// pairs of an old and a new text in the file.
func filledShop(t *testing.T, orders int, replaced ...string) (file, name string, tables *dynamodb.Client) {
	t.Helper()
	file, name, tables = clitest.OnServers(t)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.NewReplacer(replaced...).Replace(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var records strings.Builder
	for i := range orders {
		key := fmt.Sprintf("o%04d", i)
		records.WriteString(clitest.Order(key, fmt.Sprint(100+i)))
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name + "-source"), Item: order(key)}); err != nil {
			t.Fatal(err)
		}
	}
	saved := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(saved, []byte(records.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", saved)
	return file, name, tables
}

// If many items cannot be decoded, the first ones are named and all are counted.
func TestAudit_ManyUndecodableItems(t *testing.T) {
	dir := t.TempDir()
	file, saved, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "orders.jsonl"), filepath.Join(dir, "out")
	var lines strings.Builder
	lines.WriteString(clitest.Order("whole", "100"))
	const broken = 25
	for i := range broken {
		lines.WriteString(strings.ReplaceAll(clitest.Order(fmt.Sprintf("o%02d", i), fmt.Sprint(200+i)), `"Status":{"S":"paid"}`, `"Status":{"S":7}`))
	}
	text := "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  orders: {view: {table: rows, key: {PK: 'ORDER', SK: '{@key}'}}}\n"
	for path, body := range map[string]string{file: text, saved: lines.String()} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitDeadLetters, "replay", "-c", file, "--local", out, saved)
	stdout, stderr := program.Run(t, cli.ExitIncomplete, "audit", "-c", file, "--local", out, "--report", filepath.Join(dir, "audit.jsonl"), saved)
	if n := strings.Count(stderr, "not compared: "); n != 10 || strings.Count(stderr, "more items cannot be decoded") != 1 || !strings.Contains(stdout, "25 items cannot be decoded") {
		t.Errorf("%d of %d are named:\n%s%s", n, broken, stderr, stdout)
	}
}

func order(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: key}, "Status": &types.AttributeValueMemberS{Value: "paid"}}
}

// summaryOf runs an audit and returns its result.
func summaryOf(t *testing.T, code int, args ...string) (s run.Summary) {
	t.Helper()
	text, said := program.Run(t, code, append([]string{"audit", "-o", "json", "--lag", "100ms", "--rcu", "0"}, args...)...)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s%s", err, text, said)
	}
	return s
}

// audit finds no difference between a table and equal sinks on real servers. It finds each kind of difference, and no
// other one. A repair removes the differences.
func TestAudit_OnServers(t *testing.T) {
	file, name, tables := filledShop(t, 60)
	report := filepath.Join(t.TempDir(), "report.jsonl")
	s := summaryOf(t, cli.ExitOK, "-c", file, "--live", "--report", report)
	if len(s.Sinks) != 3 || s.Items != 60 || s.Differing != 0 || s.Units <= 0 || !strings.Contains(s.Assumed, "never more than 100ms behind") {
		t.Fatalf("of equal sinks: %+v", s)
	}
	sample := summaryOf(t, cli.ExitOK, "-c", file, "--live", "--report", report, "--sample", "2", "--segments", "4", "--sink", "orders")
	if sample.Coverage != 0.5 || sample.Items == 0 || sample.Items == 60 || *sample.Sinks[0].UpperBound > 0.5 {
		t.Errorf("of a sample: %+v", sample)
	}
	change := func(suffix string, put map[string]types.AttributeValue, remove map[string]types.AttributeValue) {
		t.Helper()
		var err error
		if put != nil {
			_, err = tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name + suffix), Item: put})
		} else {
			_, err = tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(name + suffix), Key: remove})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key := func(pk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}}
	}
	row := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "STATUS#paid"}, "SK": &types.AttributeValueMemberS{Value: "o0003"}}
	change("-rows", nil, row)            // the row is gone: missing
	change("-source", nil, key("o0007")) // the item is gone: its row, its share and its document are extra
	change("-source", order("new"), nil) // no sink got this item: its row, its share and its document are missing
	got := summaryOf(t, cli.ExitDifferences, "-c", file, "--live", "--report", report)
	if found := got.Sinks[0].Findings; got.Differing != 7 || found["missing"] != 2 || found["extra"] != 1 {
		t.Fatalf("%+v", got)
	}
	one := summaryOf(t, cli.ExitDifferences, "-c", file, "--live", "--report", filepath.Join(t.TempDir(), "one.jsonl"), "--key", "PK=o0003")
	if one.Differing != 1 {
		t.Errorf("of one item: %+v", one)
	}
	program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report, "--dry-run")
	summaryOf(t, cli.ExitDifferences, "-c", file, "--live", "--report", report)
	program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report)
	if again := summaryOf(t, cli.ExitOK, "-c", file, "--live", "--report", report); again.Differing != 0 || again.Items != 60 {
		t.Errorf("after the repair: %+v", again)
	}
	if paid := clitest.Paid(t, tables, name); paid != "60" {
		t.Errorf("%s are counted, want 60", paid)
	}
}

// If items are named, audit and why find and repair a missing group in which one of these items counts.
func TestAudit_NamedItemsOfALostGroup(t *testing.T) {
	file, name, tables := filledShop(t, 3)
	lost := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "PAID"}, "SK": &types.AttributeValueMemberS{Value: "N"}}
	group, err := tables.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(name + "-rows"), Key: lost})
	if err != nil {
		t.Fatal(err)
	}
	group.Item["SK"] = &types.AttributeValueMemberS{Value: "another"} // without any row the sink would not start
	if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name + "-rows"), Item: group.Item}); err != nil {
		t.Fatal(err)
	}
	if _, err := tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(name + "-rows"), Key: lost}); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.jsonl")
	named := []string{"-c", file, "--live", "--report", report, "--key", "PK=o0001", "--key", "PK=o0002"}
	if s := summaryOf(t, cli.ExitDifferences, named...); s.Differing != 1 || s.Sinks[1].Findings["missing"] != 1 {
		t.Errorf("%+v", s)
	}
	said, _ := program.Run(t, cli.ExitFailure, "why", "-c", file, "--live", "--key", "PK=o0001")
	if strings.Count(said, "[MISSING]") != 1 {
		t.Errorf("why says\n%s", said)
	}
	program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report)
	summaryOf(t, cli.ExitOK, named...)
	program.Run(t, cli.ExitOK, "why", "-c", file, "--live", "--key", "PK=o0001")
	if paid := clitest.Paid(t, tables, name); paid != "3" {
		t.Errorf("%s are counted, want 3", paid)
	}
}

// A sample of an aggregate finds wrong groups, even if the contributions of all items are right.
func TestAudit_SampleOfWrongGroups(t *testing.T) {
	file, name, tables := filledShop(t, 60)
	args := []string{"-c", file, "--live", "--report", filepath.Join(t.TempDir(), "report.jsonl"), "--sample", "2", "--segments", "4", "--sink", "paid"}
	if s := summaryOf(t, cli.ExitOK, args...); !s.Complete() || s.Sinks[0].Compared <= s.Items {
		t.Errorf("of equal groups: %+v", s)
	}
	if _, err := tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(name + "-rows"), UpdateExpression: aws.String("SET n = :many"),
		Key:                       map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "PAID"}, "SK": &types.AttributeValueMemberS{Value: "N"}},
		ExpressionAttributeValues: map[string]types.AttributeValue{":many": &types.AttributeValueMemberN{Value: "77777"}},
	}); err != nil {
		t.Fatal(err)
	}
	if s := summaryOf(t, cli.ExitDifferences, args...); s.Sinks[0].Findings["wrong"] != 1 {
		t.Errorf("of wrong groups: %+v", s)
	}
}

// A group with fewer shares than items that count in it stops the pipeline until it is repaired. Until then no consumer
// can run, so the audit trusts --lag.
func TestAudit_NoConsumerCanRun(t *testing.T) {
	file, name, tables := filledShop(t, 10)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "leases: {table: "+name+"-leases}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	group := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "PAID"}, "SK": &types.AttributeValueMemberS{Value: "N"}}
	if _, err := tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(name + "-rows"), Key: group, UpdateExpression: aws.String("SET #n = :none"),
		ExpressionAttributeNames: map[string]string{"#n": "_tw_shares"}, ExpressionAttributeValues: map[string]types.AttributeValue{":none": &types.AttributeValueMemberN{Value: "0"}},
	}); err != nil {
		t.Fatal(err)
	}
	key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "o0003"}}
	if _, err := tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(name + "-source"), Key: key}); err != nil {
		t.Fatal(err)
	}
	removed := filepath.Join(t.TempDir(), "removed.jsonl")
	line := strings.Replace(strings.Replace(clitest.Order("o0003", "900"), `"INSERT"`, `"REMOVE"`, 1), `"NewImage"`, `"OldImage"`, 1)
	if err := os.WriteFile(removed, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", removed)
	if !strings.Contains(said, "tablewake audit --lag") {
		t.Errorf("the pipeline says %s", said)
	}
	report := filepath.Join(t.TempDir(), "report.jsonl")
	s := summaryOf(t, cli.ExitDifferences, "-c", file, "--live", "--report", report, "--sink", "paid")
	if found := s.Sinks[0].Findings; found["wrong"] != 1 || found["extra"] != 1 || !strings.Contains(s.Assumed, "the consumers are never more than 100ms behind") {
		t.Errorf("%+v", s)
	}
	program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report)
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", removed)
	summaryOf(t, cli.ExitOK, "-c", file, "--live", "--report", report)
	if paid := clitest.Paid(t, tables, name); paid != "9" {
		t.Errorf("%s are counted, want 9", paid)
	}
}
