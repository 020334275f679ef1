package audit_test

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/test/exportfile"
)

// exportOf writes a full export of a table of paid orders, in two files, and returns its folder.
func exportOf(t *testing.T, table string, orders int) string {
	t.Helper()
	var items [2][][]byte
	for i := range orders {
		items[i%2] = append(items[i%2], fmt.Appendf(nil, `{"PK":{"S":"o%04d"},"Status":{"S":"paid"}}`, i))
	}
	dir := t.TempDir()
	e := exportfile.Export{
		Table: table, TableID: "6d1f0f2e-52c4-4a35-9c4b-4e4a1a2f7c10", Bucket: "exports", ID: "01795254780000-5b0f1c3e",
		Time: "2026-11-21T09:53:00.000Z", End: "2026-11-21T09:58:12.730Z", Files: []iter.Seq[[]byte]{slices.Values(items[0]), slices.Values(items[1])},
	}
	if err := e.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// audit compares the items of an export with the sinks. It reads an item that differs, or that --key names, from the
// table.
func TestAudit_Export(t *testing.T) {
	file, name, tables := filledShop(t, 10)
	about, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(name + "-source")})
	if err != nil {
		t.Fatal(err)
	}
	arn := aws.ToString(about.Table.TableArn)
	args := []string{"-c", file, "--live", "--report", filepath.Join(t.TempDir(), "report.jsonl"), "--export", exportOf(t, arn, 10)}
	if s := summaryOf(t, cli.ExitOK, args...); s.Items != 10 || s.Sinks[0].Compared != 10 || !strings.Contains(s.Source, "export") {
		t.Errorf("of equal sinks: %+v", s)
	}

	change := func(suffix string, attributes ...string) {
		t.Helper()
		key := map[string]types.AttributeValue{}
		for i := 0; i < len(attributes); i += 2 {
			key[attributes[i]] = &types.AttributeValueMemberS{Value: attributes[i+1]}
		}
		if _, err := tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(name + suffix), Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	change("-rows", "PK", "STATUS#paid", "SK", "o0003") // missing
	change("-rows", "PK", "STATUS#paid", "SK", "o0005") // its item is gone too, so that the row is missing rightly
	change("-source", "PK", "o0005")
	s := summaryOf(t, cli.ExitDifferences, append(args, "--sink", "orders")...)
	if found := s.Sinks[0].Findings; s.Differing != 1 || found["missing"] != 1 {
		t.Errorf("%+v", s)
	}

	one := summaryOf(t, cli.ExitDifferences, append(args, "--key", "PK=o0003")...)
	if one.Items != 1 || one.Differing != 1 {
		t.Errorf("of one item: %+v", one)
	}
	if none := summaryOf(t, cli.ExitIncomplete, append(args, "--sink", "orders", "--key", "PK=o0005")...); none.Items != 0 || !none.NothingSelected {
		t.Errorf("of an item that the export has, and the table has not: %+v", none)
	}

	other := exportOf(t, strings.Replace(arn, name, "other", 1), 10)
	_, said := program.Run(t, cli.ExitUsage, "audit", "-c", file, "--live", "--report", filepath.Join(t.TempDir(), "report.jsonl"), "--export", other)
	if !strings.Contains(said, "the export is of the table") {
		t.Errorf("of another table it says %s", said)
	}
}
