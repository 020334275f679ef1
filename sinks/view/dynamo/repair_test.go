package dynamo_test

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

func TestRepairs(t *testing.T) {
	server := dynamotest.Open(t)
	viewtest.RunRepairs(t, viewtest.RepairSuite{
		Open: func(ctx context.Context, dir string) (viewtest.StateStore, error) {
			faults := new(dynamotest.Faults)
			store, err := open(ctx, statedynamo.Options{Client: server.Client(dir, faults)})
			if err != nil {
				return nil, err
			}
			return &anyTable{Store: store, faults: faults, made: make(map[string]bool)}, nil
		},
		Editor:            hand{},
		BeforeRepairWrite: between,
	})
}

// between makes a store call do before its next write.
func between(s viewtest.StateStore, do func()) {
	var once sync.Once
	first := func(r *dynamotest.Request) (*http.Response, error) {
		once.Do(do)
		return r.Send()
	}
	faults := s.(*anyTable).faults
	faults.Next("PutItem", first)
	faults.Next("TransactWriteItems", first)
}

func (a *anyTable) RepairRows(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	t, err := a.table(ctx, t, rs[0].Next.PK, rs[0].Next.SK)
	if err != nil {
		return nil, err
	}
	return a.Store.RepairRows(ctx, t, rs)
}

func (a *anyTable) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	t, err := a.tableOf(ctx, t, []state.Row{rs[0].Next.Row})
	if err != nil {
		return nil, err
	}
	return a.Store.RepairGroups(ctx, t, rs)
}

// hand changes items of view tables, as a person would.
type hand struct{}

// item returns the stored item of a row and its reference.
func (hand) item(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row) (statedynamo.Ref, statedynamo.Item) {
	t.Helper()
	pk, sk, err := row.Decode()
	if err != nil {
		t.Fatal(err)
	}
	key := statedynamo.Item{table.PK: sdkvalue.Of(pk)}
	if sk.Exists() {
		key[table.SK] = sdkvalue.Of(sk)
	}
	ref := statedynamo.Ref{Table: named(table).Name, Key: key}
	items, err := s.(*anyTable).Get(t.Context(), []statedynamo.Ref{ref})
	if err != nil || items[0] == nil {
		t.Fatalf("the row %s is not there (%v)", row, err)
	}
	return ref, items[0]
}

func (hand) write(t *testing.T, s viewtest.StateStore, a statedynamo.Action) {
	t.Helper()
	if err := s.(*anyTable).Write(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func (h hand) Remove(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row) (putBack func()) {
	t.Helper()
	ref, stored := h.item(t, s, table, row)
	h.write(t, s, statedynamo.Delete(ref, statedynamo.Condition{}))
	return func() { h.write(t, s, statedynamo.Put(ref.Table, stored, statedynamo.Condition{})) }
}

func (h hand) Set(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row, name, text string) {
	t.Helper()
	ref, stored := h.item(t, s, table, row)
	stored[name] = sdkvalue.Of(item.StringValue(text))
	h.write(t, s, statedynamo.Put(ref.Table, stored, statedynamo.Condition{}))
}

func (h hand) ReplaceByTombstone(t *testing.T, s viewtest.StateStore, table view.Table, row state.Row) {
	t.Helper()
	ref, stored := h.item(t, s, table, row)
	buried := statedynamo.Item{"_tw": stored["_tw"], "_tw_expires": sdkvalue.Of(item.NumberValue(decimal.Of(4_000_000_000)))}
	maps.Copy(buried, ref.Key)
	h.write(t, s, statedynamo.Put(ref.Table, buried, statedynamo.Condition{}))
}
