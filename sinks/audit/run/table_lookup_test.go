package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit/run"
)

// emptyTable is a table without items. It counts the keys of its requests.
type emptyTable struct{ asked int }

func (t *emptyTable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	t.asked += len(in.RequestItems["shop"].Keys)
	return &dynamodb.BatchGetItemOutput{}, nil
}

// A sink can have entries with keys that cannot be decoded. The lookup returns an error for each such key and still
// reads the other items.
func TestTableLookup_KeysOfNoItem(t *testing.T) {
	table := &emptyTable{}
	lookup := run.NewTableLookup(table, "shop", record.SnapshotOptions{DecoderOptions: record.DecoderOptions{Table: "shop"}, Keys: []string{"PK"}}, run.NewBudget(0))
	items, err := lookup.Read(t.Context(), []item.Key{"%zz", "P1", "P1,P2"})
	if err != nil || len(items) != 3 || table.asked != 1 {
		t.Fatalf("%d items of %d that were asked for, %v", len(items), table.asked, err)
	}
	for i, want := range []string{"under a key that the table cannot have", "", "has 1 attributes"} {
		if err := items[i].Err; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("item %d: %v, want %q", i, err, want)
		}
	}
	if !items[1].Change.Removed() || items[1].Change.Key != "P1" {
		t.Errorf("the item that is not there: %+v", items[1].Change)
	}
}
