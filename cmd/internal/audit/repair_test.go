package audit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// A dry run promises what the repair does, also of a row that names another item.
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
