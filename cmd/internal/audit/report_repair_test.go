package audit_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// A dry run reports what the repair will do, even for a row that names another item.
func TestRepair_RowOfAnotherItem(t *testing.T) {
	const ofItself = "key: {PK: 'STATUS#{Status}', SK: '{@key}'}"
	for name, c := range map[string]struct{ key, pk, sk string }{
		"guards itself": {ofItself, "STATUS#paid", "o0003"},
		"is claimed":    {"key: {PK: 'NAME#{PK}', SK: N}, on_collision: keep_first", "NAME#o0003", "N"},
	} {
		t.Run(name, func(t *testing.T) {
			file, table, tables := filledShop(t, 5, ofItself, c.key)
			if _, err := tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table + "-rows"), UpdateExpression: aws.String("SET #tw.src = :other"),
				Key:                       map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: c.pk}, "SK": &types.AttributeValueMemberS{Value: c.sk}},
				ExpressionAttributeNames:  map[string]string{"#tw": "_tw"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":other": &types.AttributeValueMemberS{Value: "o0004"}},
			}); err != nil {
				t.Fatal(err)
			}
			report := filepath.Join(t.TempDir(), "report.jsonl")
			if s := summaryOf(t, cli.ExitDifferences, "-c", file, "--live", "--report", report); s.Differing != 1 || s.Sinks[0].Findings["wrong"] != 1 {
				t.Errorf("%+v", s)
			}
			promised, _ := program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report, "--dry-run")
			done, _ := program.Run(t, cli.ExitOK, "audit", "-c", file, "--live", "--repair", report)
			if !strings.Contains(promised, "1 would be repaired") || !strings.Contains(done, "1 repaired") {
				t.Errorf("the dry run says %s, and the run %s", promised, done)
			}
			summaryOf(t, cli.ExitOK, "-c", file, "--live", "--report", report)
		})
	}
}

// If a document cannot be read, the repair leaves this document and repairs everything else.
func TestRepair_GoesOnBehindWhatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "out")
	records := filepath.Join(dir, "records.jsonl")
	write(t, file, `
version: 1
name: shop
source: {table: shop}
state: {table: shop-state}
connections: {os: {opensearch: 'https://localhost:9200', auth: none}}
sinks:
  rows: {view: {table: rows, key: {PK: '{@key}'}, attributes: {status: '{Status}'}}}
  documents: {search: {connection: os, index: documents}}
`)
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, `{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000",`+
			`"dynamodb":{"ApproximateCreationDateTime":1795254780,"Keys":{"PK":{"S":"o%[1]d"}},"SequenceNumber":"10000000000000000000%[1]d",`+
			`"NewImage":{"PK":{"S":"o%[1]d"},"Status":{"S":"new"}}}}`+"\n", i)
	}
	write(t, records, lines.String())
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--local", out, records)
	db, err := sql.Open("sqlite", filepath.Join(out, "views.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		`UPDATE _tws_documents SET entries = substr(entries, 1, length(entries) - 1) WHERE doc = (SELECT min(doc) FROM _tws_documents)`,
		`UPDATE _tws_documents SET source = json_set(source, '$.Status', 'other')`,
		`DELETE FROM "_tw_rows"`,
	} {
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "report.jsonl")
	at := []string{"-c", file, "--local", out, records, "--report", report}
	program.Run(t, cli.ExitDifferences, append([]string{"audit"}, at...)...)
	program.Run(t, cli.ExitIncomplete, "audit", "-c", file, "--local", out, records, "--repair", report)
	if s := summaryOf(t, cli.ExitDifferences, at...); s.Differing != 1 {
		t.Errorf("%d entries differ, want the damaged one: %+v", s.Differing, s)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
