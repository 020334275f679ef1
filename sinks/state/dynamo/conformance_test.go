package dynamo_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/state/statetest"
)

func TestConformance(t *testing.T) {
	server := dynamotest.Open(t)
	statetest.Run(t, statetest.Suite{
		Open: func(ctx context.Context, dir string) (statetest.Store, error) {
			db, err := dynamo.New(dynamo.Options{Client: server.Client(dir, nil), Table: "state", Pipeline: "p"})
			if err != nil {
				return nil, err
			}
			return db, db.CreateState(ctx)
		},
		State: func(s statetest.Store, pipeline string) state.Store { return s.(*dynamo.DB).State(pipeline) },
	})
}
