package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Quarantine works with marks in the state table and dead letters in a folder, while pipelines and redrives crash and
// restart.
func TestQuarantineAcrossRestarts(t *testing.T) {
	server := dynamotest.Open(t)
	sinktest.RunQuarantine(t, 3, func(folder string) (sinktest.Memory, error) {
		letters, err := dir.New(dir.Options{Dir: folder})
		if err != nil {
			return sinktest.Memory{}, err
		}
		db, err := dynamo.New(dynamo.Options{Client: server.Client(folder, nil), Table: table, Pipeline: "test"})
		if err != nil {
			return sinktest.Memory{}, err
		}
		return sinktest.Memory{Letters: letters, Quarantine: db.State("test")}, db.CreateState(t.Context())
	})
}
