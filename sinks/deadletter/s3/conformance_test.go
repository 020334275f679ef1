package s3_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/deadlettertest"
	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// prefixed returns a function that opens the store of a folder. Each folder has a prefix of its own in the bucket.
func prefixed(t *testing.T, bucket string) func(dir string) *s3.Store {
	return func(dir string) *s3.Store {
		return open(t, bucket, nil, func(o *s3.Options) {
			o.Prefix, o.Pipeline = filepath.Base(filepath.Dir(dir))+filepath.Base(dir), "test"
		})
	}
}

// The bucket contains each dead letter. The sink of the suite makes a dead letter of every change.
func TestConformance(t *testing.T) {
	at := prefixed(t, newBucket(t))
	deadlettertest.Run(t, deadlettertest.Suite{
		Checks: 2,
		Stream: sinktest.StreamOptions{Records: 15},
		Open:   func(dir string) (deadletter.Store, func() error, error) { return at(dir), nil, nil },
	})
}

// Quarantine works with dead letters in a bucket and marks in a database, while pipelines and redrives crash and
// restart.
func TestQuarantineAcrossRestarts(t *testing.T) {
	at := prefixed(t, newBucket(t))
	sinktest.RunQuarantine(t, 3, func(dir string) (sinktest.Memory, error) {
		db, err := sqlite.Open(context.Background(), filepath.Join(dir, "marks.db"), sqlite.Options{})
		if err != nil {
			return sinktest.Memory{}, err
		}
		return sinktest.Memory{Letters: at(dir), Quarantine: db.State("test"), Close: db.Close}, nil
	})
}

// Quarantine works with dead letters in a bucket and marks in a state table.
func TestQuarantineWithMarksInDynamoDB(t *testing.T) {
	at := prefixed(t, newBucket(t))
	server := dynamotest.Open(t)
	sinktest.RunQuarantine(t, 2, func(folder string) (sinktest.Memory, error) {
		db, err := dynamo.New(dynamo.Options{Client: server.Client(folder, nil), Table: "state", Pipeline: "test"})
		if err != nil {
			return sinktest.Memory{}, err
		}
		return sinktest.Memory{Letters: at(folder), Quarantine: db.State("test")}, db.CreateState(t.Context())
	})
}
