package gaps_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5" //nolint:gosec // exports use MD5
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/gaps"
	"github.com/tablewake/tablewake/cmd/internal/plan"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/test/server"
)

var program = clitest.Program{gaps.New, audit.New, replay.New, plan.New, backfill.New}

func TestMain(m *testing.M) { program.TestMain(m) }

// shop is a table on a real server, with sinks that missed some changes.
type shop struct {
	file, name string
	stores     []string // flags of the sinks
	tables     *dynamodb.Client
	state      state.Store // nil for sinks in a folder
	gap        record.Gap
}

// newShop fills a table with twenty paid orders, and its sinks. The sinks are in folder, or on servers if folder is "".
// Then newShop changes items that the sinks do not get.
func newShop(t *testing.T, folder string) *shop {
	t.Helper()
	s := &shop{stores: []string{"--live"}}
	s.file, s.name, s.tables = clitest.OnServers(t)
	var records strings.Builder
	for i := range 20 {
		key := fmt.Sprintf("o%04d", i)
		records.WriteString(clitest.Order(key, fmt.Sprint(100+i)))
		s.put(t, key, "paid")
	}
	saved := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(saved, []byte(records.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if folder != "" {
		s.stores = []string{"--local", folder}
		program.Run(t, cli.ExitOK, "replay", "-c", s.file, "--local", folder, saved)
	} else {
		program.Run(t, cli.ExitOK, "replay", "-c", s.file, "--live", "--create", saved)
	}
	s.put(t, "o0001", "open")
	s.put(t, "new", "paid")
	s.put(t, "o0003", "open")
	if _, err := s.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(s.name + "-source"), Key: map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "o0002"}}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Second).UTC()
	s.gap = record.Gap{
		StreamARN: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678", Shard: "shardId-1", After: "119", Before: "900",
		From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour), Found: now.Add(-30 * time.Minute),
	}
	if folder == "" {
		db, err := dynamo.New(dynamo.Options{Client: s.tables, Table: s.name + "-state", Pipeline: s.name})
		if err != nil {
			t.Fatal(err)
		}
		s.state = db.State(s.name)
		s.note(t, s.state)
		return s
	}
	s.noteInFolder(t, folder)
	return s
}

func (s *shop) noteInFolder(t *testing.T, folder string) {
	t.Helper()
	leases, err := leasesfile.Open(filepath.Join(folder, "leases.json"), s.name)
	if err != nil {
		t.Fatal(err)
	}
	s.note(t, leases)
	if err := leases.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) note(t *testing.T, gaps pipeline.GapStore) {
	t.Helper()
	if err := gaps.AddGap(t.Context(), s.gap); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) put(t *testing.T, key, status string) {
	t.Helper()
	_, err := s.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(s.name + "-source"), Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: key}, "Status": &types.AttributeValueMemberS{Value: status},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// export writes an incremental export of the changes that the sinks missed. The sinks hold o0003 as it was between the
// two states that the export has. The lines of more follow those of the changes.
func (s *shop) export(t *testing.T, from, to time.Time, more ...string) string {
	t.Helper()
	image := func(key, status string) string {
		if status == "" {
			return ""
		}
		return fmt.Sprintf(`{"PK":{"S":%q},"Status":{"S":%q}}`, key, status)
	}
	var lines strings.Builder
	for _, c := range [][3]string{{"o0001", "paid", "open"}, {"o0002", "paid", ""}, {"new", "", "paid"}, {"o0003", "draft", "open"}, {"o0004", "paid", "paid"}} {
		fmt.Fprintf(&lines, `{"Metadata":{"WriteTimestampMicros":{"N":"%d"}},"Keys":{"PK":{"S":%q}}`, s.gap.From.Add(time.Minute).UnixMicro(), c[0])
		for i, name := range []string{"OldImage", "NewImage"} {
			if text := image(c[0], c[i+1]); text != "" {
				fmt.Fprintf(&lines, `,%q:%s`, name, text)
			}
		}
		lines.WriteString("}\n")
	}
	for _, line := range more {
		lines.WriteString(line + "\n")
	}
	described, err := s.tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(s.name + "-source")})
	if err != nil {
		t.Fatal(err)
	}
	return writeExport(t, aws.ToString(described.Table.TableArn), lines.String(), 5+len(more), from, to)
}

// writeExport writes an incremental export with one data file of n lines.
func writeExport(t *testing.T, table, lines string, n int, from, to time.Time) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, b []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, b, 0o600))
	}
	sum := func(b []byte) string {
		s := md5.Sum(b) //nolint:gosec // exports use MD5
		return base64.StdEncoding.EncodeToString(s[:])
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(lines))
	must(err)
	must(z.Close())
	const folder, data = "AWSDynamoDB/01760000000000-abcdef01", "AWSDynamoDB/data/abcdef.json.gz"
	write(data, packed.Bytes())
	files, err := json.Marshal(map[string]any{"itemCount": n, "md5Checksum": sum(packed.Bytes()), "dataFileS3Key": data})
	must(err)
	about, err := json.Marshal(map[string]any{
		"version": "2023-08-01", "tableArn": table, "exportType": "INCREMENTAL_EXPORT", "outputView": "NEW_AND_OLD_IMAGES", "outputFormat": "DYNAMODB_JSON",
		"exportFromTime": from.UTC().Format(time.RFC3339), "exportToTime": to.UTC().Format(time.RFC3339), "itemCount": n, "manifestFilesS3Key": folder + "/manifest-files.json",
	})
	must(err)
	for name, b := range map[string][]byte{"manifest-files": append(files, '\n'), "manifest-summary": about} {
		write(folder+"/"+name+".json", b)
		write(folder+"/"+name+".checksum", []byte(sum(b)))
	}
	return dir
}

// gaps runs the command, and returns its report.
func (s *shop) gaps(t *testing.T, code int, args ...string) (r gaps.Report) {
	t.Helper()
	text, said := program.Run(t, code, slices.Concat([]string{"gaps", "-c", s.file, "-o", "json", "--lag", "100ms", "--rcu", "0", "--report", filepath.Join(t.TempDir(), "left.jsonl")}, s.stores, args)...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s%s", err, text, said)
	}
	return r
}

// equal checks that the sinks have what the table has.
func (s *shop) equal(t *testing.T) {
	t.Helper()
	program.Run(t, cli.ExitOK, "audit", "-c", s.file, "--live", "--lag", "100ms", "--rcu", "0", "--report", filepath.Join(t.TempDir(), "audit.jsonl"))
	if paid := clitest.Paid(t, s.tables, s.name); paid != "18" {
		t.Errorf("%s are paid, want 18", paid)
	}
}

// A repair by an export makes the sinks equal to the table. It even repairs a row of an item if no image of the export
// has the item as the row shows it.
func TestRepair_ByExport(t *testing.T) {
	s := newShop(t, "")
	if r := s.gaps(t, cli.ExitPlanned); r.Open != 1 || r.Gaps[0].Repair.Stage != state.GapOpen || len(r.Commands) != 2 {
		t.Fatalf("before: %+v", r)
	}
	whole := s.export(t, s.gap.From.Add(-time.Hour), s.gap.To.Add(time.Hour))
	planned := s.gaps(t, cli.ExitPlanned, "--repair", "--no-queue", "--export", whole, "--dry-run")
	if planned.Repair.Repair.Differences == 0 || planned.Open != 1 {
		t.Fatalf("dry run: %+v", planned)
	}
	undecodable := s.export(t, s.gap.From.Add(-time.Hour), s.gap.To.Add(time.Hour), `{"Keys":{}}`)
	more := s.gaps(t, cli.ExitPlanned, "--repair", "--no-queue", "--export", undecodable, "--dry-run")
	if left := more.Repair.Repair.Left; left != planned.Repair.Repair.Left+1 {
		t.Errorf("%d are left with a line that cannot be decoded, and %d without", left, planned.Repair.Repair.Left)
	}
	r := s.gaps(t, cli.ExitOK, "--repair", "--no-queue", "--export", whole)
	got := r.Gaps[0].Repair
	if got.Stage != state.GapRepaired || got.How != "export" || got.Items != 5 || got.Left != 0 || got.Differences == 0 || got.Repaired != got.Differences || len(got.Exports) != 1 || len(got.Sinks) != 3 {
		t.Errorf("after: %+v", got)
	}
	s.equal(t)
	if r := s.gaps(t, cli.ExitOK); r.Open != 0 {
		t.Errorf("listed: %+v", r)
	}
	s.gap.Before = "1000"
	s.note(t, s.state)
	if r := s.gaps(t, cli.ExitPlanned); r.Gaps[0].Repair.Stage != state.GapOpen {
		t.Errorf("a gap that grew: %+v", r)
	}
}

func TestRepair_ByAudit(t *testing.T) {
	s := newShop(t, "")
	got := s.gaps(t, cli.ExitPlanned, "--repair", "--no-queue", "--audit", "--sink", "orders").Gaps[0].Repair
	if got.Stage != state.GapOpen || got.Left != 0 || len(got.Sinks) != 1 {
		t.Errorf("after the repair of one sink: %+v", got)
	}
	got = s.gaps(t, cli.ExitOK, "--repair", "--no-queue", "--audit", "--sink", "paid,docs").Gaps[0].Repair
	if got.Stage != state.GapRepaired || got.How != "audit" || len(got.Sinks) != 3 {
		t.Errorf("after the others: %+v", got)
	}
	s.equal(t)
}

// Sinks in a folder are repaired to equality with the table, too.
func TestRepair_InAFolder(t *testing.T) {
	for how, args := range map[string]func(s *shop) []string{
		"audit": func(*shop) []string { return []string{"--audit"} },
		"export": func(s *shop) []string {
			return []string{"--export", s.export(t, s.gap.From.Add(-time.Hour), s.gap.To.Add(time.Hour))}
		},
	} {
		t.Run(how, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "out")
			s := newShop(t, folder)
			if r := s.gaps(t, cli.ExitPlanned); r.Open != 1 {
				t.Fatalf("before: %+v", r)
			}
			got := s.gaps(t, cli.ExitOK, append([]string{"--repair"}, args(s)...)...).Gaps[0].Repair
			if got.Stage != state.GapRepaired || got.How != how || got.Left != 0 || got.Differences == 0 || got.Repaired != got.Differences || len(got.Sinks) != 3 {
				t.Errorf("after: %+v", got)
			}
			s.gap.Before = "1000"
			s.noteInFolder(t, folder)
			if r := s.gaps(t, cli.ExitPlanned, "--repair", "--audit", "--dry-run"); r.Repair.Repair.Items != 20 || r.Repair.Repair.Differences != 0 {
				t.Errorf("all items, after the repair: %+v", r)
			}
		})
	}
}

// A repair that comes too early, or whose source is incomplete, is refused. The error says what to do.
func TestRepair_Refused(t *testing.T) {
	s := newShop(t, "")
	refused := func(code int, says string, args ...string) {
		t.Helper()
		_, said := program.Run(t, code, append([]string{"gaps", "-c", s.file, "--live", "--repair", "--report", filepath.Join(t.TempDir(), "left.jsonl")}, args...)...)
		if !strings.Contains(said, says) {
			t.Errorf("%v says %s\nwant %q", args, said, says)
		}
	}
	part := s.export(t, s.gap.From.Add(10*time.Minute), s.gap.To.Add(time.Hour))
	refused(cli.ExitUsage, "export the changes of "+s.gap.From.Add(-6*time.Minute).Add(time.Minute).Format(time.RFC3339), "--export", part, "--no-queue")
	refused(cli.ExitFailure, "repair it after", "--audit", "--function-timeout", "2h")
	refused(cli.ExitUsage, "needs one of")
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(cli.ExitUsage, "would replace a file that is not a report", "--audit", "--no-queue", "--report", notes)
	if err := s.state.MarkKeys(t.Context(), "docs", []item.Key{"o0001"}); err != nil {
		t.Fatal(err)
	}
	refused(cli.ExitFailure, "--sink docs", "--audit")
	for g, err := range s.state.Gaps(t.Context()) {
		if err != nil || g.Repair.Stage != state.GapOpen {
			t.Errorf("%+v, %v", g, err)
		}
	}
}

// The queue must be empty, including messages in flight.
func TestCheckQueue(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.SQS().Endpoint(t))
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_REGION", server.Region)
	sdk, err := target.LoadAWS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := sqs.NewFromConfig(sdk)
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("gaps-" + strings.ToLower(rand.Text()))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
			t.Error(err)
		}
	})
	check := func(holds bool) {
		t.Helper()
		err := gaps.CheckQueue(t.Context(), sdk, *made.QueueUrl)
		if (err != nil) != holds || holds && !strings.Contains(err.Error(), "redrive them first") {
			t.Errorf("it holds a batch: %v, and the check says %v", holds, err)
		}
	}
	check(false)
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
	check(true)
	got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl})
	if err != nil || len(got.Messages) != 1 {
		t.Fatal(got, err)
	}
	check(true)
	if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: made.QueueUrl, ReceiptHandle: got.Messages[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	check(false)
}

// If a sink was removed from the file while other sinks ran, and was put back, it is a problem until an audit has
// repaired it. No other command treats the sink as complete.
func TestRepair_ASinkThatWasLeftOut(t *testing.T) {
	s := newShop(t, "")
	s.gaps(t, cli.ExitOK, "--repair", "--no-queue", "--audit")
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "without.yaml")
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "  paid:") {
			lines = append(lines, line)
		}
	}
	if err := os.WriteFile(without, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "more.jsonl")
	if err := os.WriteFile(saved, []byte(clitest.Order("late", "950")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.put(t, "late", "paid")
	program.Run(t, cli.ExitOK, "replay", "-c", without, "--live", saved)

	if text, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", s.file, "--live"); !strings.Contains(text, "it may miss changes") || !strings.Contains(text, "tablewake gaps -c "+s.file+" --live --repair --audit") {
		t.Errorf("the plan says\n%s", text)
	}
	if _, said := program.Run(t, cli.ExitUsage, "backfill", "-c", s.file, "--live", "--sink", "paid", "--scan"); !strings.Contains(said, "--repair --audit") {
		t.Errorf("a backfill says\n%s", said)
	}
	if r := s.gaps(t, cli.ExitPlanned); r.Open != 1 || len(r.LeftOut) != 1 || r.LeftOut[0].Sink != "paid" || len(r.Commands) != 1 {
		t.Fatalf("before: %+v", r)
	}
	sure := []string{"--deployed-since", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
	now := append([]string{"--repair", "--no-queue", "--audit", "--function-timeout", "1ms"}, sure...)
	if _, said := program.Run(t, cli.ExitUsage, "gaps", "-c", s.file, "--live", "--repair", "--no-queue", "--audit"); !strings.Contains(said, "--function") {
		t.Errorf("while nothing says that the functions have the file: %s", said)
	}
	if _, said := program.Run(t, cli.ExitFailure, append([]string{"gaps", "-c", s.file, "--live", "--repair", "--no-queue", "--audit"}, sure...)...); !strings.Contains(said, "repair it after") {
		t.Errorf("while a function may run that does not have it: %s", said)
	}
	if r := s.gaps(t, cli.ExitPlanned, append(now, "--dry-run")...); r.Open != 1 || r.Repair.Repair.Differences == 0 || len(r.Repair.LeftOut) > 0 {
		t.Fatalf("dry run: %+v", r)
	}
	if r := s.gaps(t, cli.ExitPlanned, append(now, "--sink", "orders")...); r.Open != 1 || r.Repair != nil {
		t.Fatalf("of another sink: %+v", r)
	}
	if r := s.gaps(t, cli.ExitOK, now...); r.Open != 0 || !slices.Equal(r.Repair.LeftOut, []string{"paid"}) || len(r.LeftOut) > 0 {
		t.Fatalf("after: %+v", r)
	}
	program.Run(t, cli.ExitOK, "audit", "-c", s.file, "--live", "--lag", "100ms", "--rcu", "0", "--report", filepath.Join(t.TempDir(), "audit.jsonl"))
	if paid := clitest.Paid(t, s.tables, s.name); paid != "19" {
		t.Errorf("%s are paid, want 19", paid)
	}
	if text, _ := program.Run(t, cli.ExitOK, "plan", "-c", s.file, "--live"); strings.Contains(text, "may miss") {
		t.Errorf("the plan says\n%s", text)
	}
}
