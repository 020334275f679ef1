package handoff

import (
	"strings"
	"testing"

	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// worldsOnDynamoDB is the number of worlds on DynamoDB Local, which takes ten times as long as a file.
const worldsOnDynamoDB = 100

// The rules hold on DynamoDB as they do on SQLite.
func TestRules_OnDynamoDB(t *testing.T) {
	db, err := statedynamo.New(statedynamo.Options{Client: dynamotest.Open(t).Client(t.TempDir(), nil), Table: "state", Pipeline: pipelineName})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateState(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := dynamo.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Create(t.Context(), view.Table{Name: tableName, PK: "PK", SK: "SK"}, dynamo.KeyTypes{}); err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t)
	p.stores = p.stores.WithRows(rows)
	for n := range worldsOnDynamoDB {
		if r := p.play(uint64(n), Rules{}); len(r.Wrong) > 0 {
			t.Errorf("seed %d:\n%s", n, strings.Join(r.Story, "\n"))
		}
	}
}
