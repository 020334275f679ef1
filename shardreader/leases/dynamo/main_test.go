package dynamo_test

import (
	"cmp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// world is an empty lease table and a state table, which no other test sees.
type world struct {
	*dynamo.Table
	client *dynamodb.Client // without faults
}

// open makes a world's tables. Calls of its Table suffer faults; nil: none do.
func open(t *testing.T, server *dynamotest.Server, faults *dynamotest.Faults) world {
	t.Helper()
	w := world{client: server.Client(t.Name(), nil)}
	w.Table = w.another(t, dynamo.Options{Client: server.Client(t.Name(), faults)})
	if err := w.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// another is a Table as another process has it.
func (w world) another(t *testing.T, o dynamo.Options) *dynamo.Table {
	t.Helper()
	if o.Client == nil {
		o.Client = w.client
	}
	o.Table, o.StateTable, o.Pipeline = "leases", "state", cmp.Or(o.Pipeline, "shop")
	table, err := dynamo.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
