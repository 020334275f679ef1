package adopt_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// If the state table was deleted, --create does not make another one beside rows that were written under it. An empty
// state table that somebody makes is refused too. adopt refuses sinks that cannot be right, and says what to do. After
// that, the whole history fills all sinks again, and nothing is counted twice.
func TestAdopt_LostState(t *testing.T) {
	file, name, tables := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	history := strings.ReplaceAll(clitest.Order("a,b", "1")+clitest.Order("c", "2"), ":table/shop/", ":table/"+name+"-source/")
	if err := os.WriteFile(stream, []byte(history), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	if text, _ := program.Run(t, cli.ExitOK, "adopt", "-c", file, "--live"); !strings.Contains(text, "nothing to adopt") {
		t.Errorf("with all in its place adopt says %s", text)
	}
	counted := clitest.Paid(t, tables, name)

	drop(t, tables, name+"-state")
	_, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", "--create", stream)
	if !strings.Contains(said, "the state table "+name+"-state is missing") || !strings.Contains(said, "`tablewake adopt --create`") {
		t.Errorf("--create beside rows says %s", said)
	}
	if _, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(name + "-state")}); err == nil {
		t.Error("the state table was made")
	}
	refused, _ := program.Run(t, cli.ExitFailure, "adopt", "-c", file, "--live", "--create", "--yes")
	if !strings.Contains(refused, "paid (table "+name+"-rows)") || !strings.Contains(refused, "refused") || !strings.Contains(refused, "Delete the output") {
		t.Errorf("of an aggregate whose state is gone adopt says %s", refused)
	}
	if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", "--create", stream); !strings.Contains(said, "tablewake adopt -c "+file+" --live --sink paid`") {
		t.Errorf("nothing was accepted, and replay says %s", said)
	}

	drop(t, tables, name+"-rows")
	var looked struct {
		Accepted bool
		Sinks    []struct{ Sink string }
	}
	text, _ := program.Run(t, cli.ExitFailure, "adopt", "-c", file, "--live", "-o", "json")
	if err := json.Unmarshal([]byte(text), &looked); err != nil || looked.Accepted || len(looked.Sinks) != 2 || looked.Sinks[0].Sink != "docs" || looked.Sinks[1].Sink != "log" {
		t.Errorf("of what is left adopt says %s (%v)", text, err)
	}
	program.Run(t, cli.ExitOK, "adopt", "-c", file, "--live", "--yes")
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	// The sink whose output was deleted starts as a new sink. It waits for the whole history.
	program.Run(t, cli.ExitOK, "backfill", "-c", file, "--live", "--archive", stream, "--deployed-since", "2026-01-01T00:00:00Z", "--lag", "1ms", "--floor-delay", "15s", "--clock-skew", "0s")
	if again := clitest.Paid(t, tables, name); again != counted {
		t.Errorf("the group counted %s, and after all %s", counted, again)
	}
}

// A restored table counts as another table. A start refuses it until adopt has asked and accepted it.
func TestAdopt_RestoredTable(t *testing.T) {
	file, name, tables := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(stream, []byte(clitest.Order("a,b", "1")), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	rows, err := tables.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(name + "-rows")})
	if err != nil {
		t.Fatal(err)
	}
	is, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(name + "-rows")})
	if err != nil {
		t.Fatal(err)
	}
	drop(t, tables, name+"-rows")
	if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", "--create", stream); !strings.Contains(said, "table "+name+"-rows is missing, and the state knows") {
		t.Errorf("--create of a table that was deleted says %s", said)
	}
	if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: is.Table.TableName, KeySchema: is.Table.KeySchema, AttributeDefinitions: is.Table.AttributeDefinitions, BillingMode: types.BillingModePayPerRequest,
	}); err != nil {
		t.Fatal(err)
	}
	for _, item := range rows.Items {
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: is.Table.TableName, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", file, "--live", stream); !strings.Contains(said, "it was deleted, restored or exchanged") {
		t.Errorf("over a restored table replay says %s", said)
	}
	program.Run(t, cli.ExitUsage, "adopt", "-c", file, "--live", "--sink", "none")
	asked, said := program.Run(t, cli.ExitFailure, "adopt", "-c", file, "--live", "--sink", "orders,paid")
	for _, want := range []string{"orders (table " + name + "-rows)", "1 of the birth ", "accept this? [y/N]"} {
		if !strings.Contains(asked, want) {
			t.Errorf("it does not say %q: %s", want, asked)
		}
	}
	if !strings.Contains(said, "nothing was accepted: --yes accepts it") {
		t.Errorf("without an answer it says %s", said)
	}
	program.Run(t, cli.ExitOK, "adopt", "-c", file, "--live", "--sink", "orders,paid", "--yes")
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", stream)
}

func drop(t *testing.T, tables *dynamodb.Client, table string) {
	t.Helper()
	if _, err := tables.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		t.Fatal(err)
	}
}

// If the output of a waiting sink is lost, adopt accepts the loss, and the sink waits again.
func TestAdopt_SinkThatWaits(t *testing.T) {
	file, name, tables := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(stream, []byte(clitest.Order("a,b", "1")), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	added := strings.Replace(string(text), "\nsinks:\n", "\nsinks:\n  added: {view: {table: "+name+"-added, key: {PK: 'ADDED#{@key}', SK: '{@key}'}}}\n", 1)
	if err := os.WriteFile(file, []byte(added), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	drop(t, tables, name+"-added")
	program.Run(t, cli.ExitOK, "adopt", "-c", file, "--live", "--sink", "added", "--yes")
	_, said := program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	drop(t, tables, name+"-added")
	if !strings.Contains(said, "it waits, and writes nothing until it is filled") {
		t.Errorf("a sink that waited, and begins anew, says %s", said)
	}
}
