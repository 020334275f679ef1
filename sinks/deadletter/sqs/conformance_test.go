package sqs_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/deadlettertest"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// queues returns a function that opens the store of a folder. Each folder has a queue of its own.
func queues(t *testing.T) func(dir string) *sqs.Store {
	urls := map[string]string{}
	return func(dir string) *sqs.Store {
		if urls[dir] == "" {
			urls[dir] = newQueue(t, nil)
		}
		return open(t, urls[dir], nil, func(o *sqs.Options) { o.Pipeline, o.Settle = "test", 10*time.Second })
	}
}

// The queue contains each dead letter. The sink of the suite makes a dead letter of every change.
func TestConformance(t *testing.T) {
	at := queues(t)
	deadlettertest.Run(t, deadlettertest.Suite{
		Checks: 2,
		Stream: sinktest.StreamOptions{Records: 15},
		Open: func(dir string) (deadletter.Store, func() error, error) {
			store := at(dir)
			return store, store.Close, nil
		},
	})
}

// Quarantine works with dead letters in a queue and marks in a database, while pipelines and redrives crash and
// restart.
func TestQuarantineAcrossRestarts(t *testing.T) {
	at := queues(t)
	sinktest.RunQuarantine(t, 3, func(dir string) (sinktest.Memory, error) {
		db, err := sqlite.Open(context.Background(), filepath.Join(dir, "marks.db"), sqlite.Options{})
		if err != nil {
			return sinktest.Memory{}, err
		}
		letters := at(dir)
		return sinktest.Memory{Letters: letters, Quarantine: db.State("test"), Close: func() error { return errors.Join(letters.Close(), db.Close()) }}, nil
	})
}

// Quarantine works with dead letters in a queue and marks in a state table.
func TestQuarantineWithMarksInDynamoDB(t *testing.T) {
	at := queues(t)
	server := dynamotest.Open(t)
	sinktest.RunQuarantine(t, 2, func(folder string) (sinktest.Memory, error) {
		db, err := dynamo.New(dynamo.Options{Client: server.Client(folder, nil), Table: "state", Pipeline: "test"})
		if err != nil {
			return sinktest.Memory{}, err
		}
		letters := at(folder)
		return sinktest.Memory{Letters: letters, Quarantine: db.State("test"), Close: letters.Close}, db.CreateState(t.Context())
	})
}
