package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// open creates a state table for the test and returns a DB of this table.
func open(t *testing.T, faults *dynamotest.Faults) *dynamo.DB {
	t.Helper()
	db, err := dynamo.New(dynamo.Options{Client: dynamotest.Open(t).Client("", faults), Table: "state", Pipeline: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}
