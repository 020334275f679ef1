package dynamo_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// open opens a store and creates its state table.
func open(ctx context.Context, o statedynamo.Options) (*dynamo.Store, error) {
	o.Table, o.Pipeline = "state", "test"
	db, err := statedynamo.New(o)
	if err != nil {
		return nil, err
	}
	if err := db.CreateState(ctx); err != nil {
		return nil, err
	}
	return dynamo.New(db)
}

// withTable opens a store, and creates its state table and a table of rows.
func withTable(t testing.TB, o statedynamo.Options, table view.Table) *dynamo.Store {
	t.Helper()
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), table, dynamo.KeyTypes{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// anyTable is a store for suites that use table names which DynamoDB does not allow, and write to tables that do not
// exist. It changes the names and creates the tables.
type anyTable struct {
	*dynamo.Store
	faults *dynamotest.Faults // faults of the client; nil: none
	mu     sync.Mutex
	made   map[string]bool
}

// opener returns a function that opens stores for a suite. Each folder of the suite has separate tables.
func opener[T any](t *testing.T) func(context.Context, string) (T, error) {
	server := dynamotest.Open(t)
	return func(ctx context.Context, dir string) (s T, err error) {
		store, err := open(ctx, statedynamo.Options{Client: server.Client(dir, nil)})
		if err != nil {
			return s, err
		}
		return any(&anyTable{Store: store, made: make(map[string]bool)}).(T), nil
	}
}

// plain counts the items of a table with a Scan.
func plain(ctx context.Context, s viewtest.Store, t view.Table) (n int, err error) {
	for _, err := range s.(*anyTable).Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(named(t).Name)}) {
		if errors.Is(err, statedynamo.ErrNoTable) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// named returns a table with the name that it has in DynamoDB.
func named(t view.Table) view.Table {
	sum := sha256.Sum256([]byte(t.Name))
	t.Name = "t-" + hex.EncodeToString(sum[:8])
	return t
}

// table creates the table of a target if it does not exist. The types of its key attributes are those of pk and sk.
func (a *anyTable) table(ctx context.Context, t view.Target, pk, sk item.Value) (view.Target, error) {
	t.Table = named(t.Table)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made[t.Name] {
		return t, nil
	}
	k := dynamo.KeyTypes{PK: types.ScalarAttributeType(pk.Kind().String())}
	if t.SK != "" {
		k.SK = types.ScalarAttributeType(sk.Kind().String())
	}
	err := a.Create(ctx, t.Table, k)
	a.made[t.Name] = err == nil
	return t, err
}

func (a *anyTable) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	if len(ms) == 0 {
		return a.Store.Apply(ctx, t, ms)
	}
	t, err := a.table(ctx, t, ms[0].PK, ms[0].SK)
	if err != nil {
		return nil, err
	}
	return a.Store.Apply(ctx, t, ms)
}

func (a *anyTable) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return a.Store.Rows(ctx, named(t), q)
}

func (a *anyTable) Empty(ctx context.Context, t view.Target) (bool, error) {
	t.Table = named(t.Table)
	return a.Store.Empty(ctx, t)
}

func (a *anyTable) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	t.Table = named(t.Table)
	return a.Store.StoredRows(ctx, t, rows)
}

func (a *anyTable) Contribute(ctx context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	pk, sk := item.StringValue("-"), item.StringValue("-")
	for _, w := range ws {
		for _, g := range w.Groups {
			var err error
			if pk, sk, err = g.Row.Decode(); err != nil {
				return nil, err
			}
		}
	}
	t, err := a.table(ctx, t, pk, sk)
	if err != nil {
		return nil, err
	}
	return a.Store.Contribute(ctx, t, ws)
}

func (a *anyTable) ReplaceItemRows(ctx context.Context, t view.Target, ws []state.ItemRowsWrite) ([]view.Result, error) {
	pk, sk := item.StringValue("-"), item.StringValue("-")
	for _, w := range ws {
		for _, r := range w.Puts {
			var err error
			if pk, sk, err = r.Row.Decode(); err != nil {
				return nil, err
			}
		}
	}
	t, err := a.table(ctx, t, pk, sk)
	if err != nil {
		return nil, err
	}
	return a.Store.ReplaceItemRows(ctx, t, ws)
}

// inState returns a target of the state with the table name in DynamoDB.
func inState(t state.Target) state.Target {
	t.Table = named(view.Table{Name: t.Table}).Name
	return t
}

func (a *anyTable) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return a.Store.Guards(ctx, inState(t), items)
}

func (a *anyTable) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return a.Store.Contributions(ctx, inState(t), items)
}

func (a *anyTable) ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error] {
	return a.Store.ContestedRows(ctx, inState(t))
}

func (a *anyTable) ListGuards(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemGuard, error] {
	return a.Store.ListGuards(ctx, inState(t), l)
}

func (a *anyTable) ListContributions(ctx context.Context, t state.Target, l state.Listing) iter.Seq2[state.ItemContribution, error] {
	return a.Store.ListContributions(ctx, inState(t), l)
}
