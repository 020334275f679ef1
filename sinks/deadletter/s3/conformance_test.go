package s3_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prefixed opens the store of a folder: a prefix of the test's bucket.
func prefixed(t *testing.T, bucket string) func(dir string) *s3.Store {
	return func(dir string) *s3.Store {
		return open(t, bucket, nil, func(o *s3.Options) {
			o.Prefix, o.Pipeline = filepath.Base(filepath.Dir(dir))+filepath.Base(dir), "test"
		})
	}
}

// Every letter is in the bucket. The sink of the suite is one that gives up on every change.
func TestConformance(t *testing.T) {
	at := prefixed(t, newBucket(t))
	sinktest.Run(t, sinktest.Suite{
		Checks: 2,
		Stream: sinktest.StreamOptions{Records: 15},
		Open: func(dir string) (sinktest.Store, error) {
			store := at(dir)
			return sinktest.Store{
				Sink:  func(f *sinktest.Faults) (pipeline.Sink, error) { return givesUp(store, f), nil },
				State: func() (map[string]string, error) { return state(store) },
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string {
			want := make(map[string]string)
			for i := range s.Records {
				want[place(s.Changes[i].Key, s.Changes[i].Version)] = string(s.Changes[i].Raw)
			}
			return want
		},
	})
}

// Letters in a bucket and marks in a database, under pipelines and redrives that die and
// start again.
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

// The same with marks in a state table.
func TestQuarantineWithMarksInDynamoDB(t *testing.T) {
	at := prefixed(t, newBucket(t))
	server := dynamotest.Open(t)
	sinktest.RunQuarantine(t, 2, func(folder string) (sinktest.Memory, error) {
		db, err := dynamo.New(dynamo.Options{Client: server.Client(folder, nil), Table: "state"})
		if err != nil {
			return sinktest.Memory{}, err
		}
		return sinktest.Memory{Letters: at(folder), Quarantine: db.State("test")}, db.CreateState(t.Context())
	})
}

func place(k pipeline.Key, v pipeline.Version) string { return fmt.Sprintf("%s at %s", k, v) }

func givesUp(store deadletter.Store, f *sinktest.Faults) pipeline.Sink {
	return pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
		letters := make([]pipeline.DeadLetter, len(ds))
		for i, d := range ds {
			letters[i] = pipeline.DeadLetter{
				Pipeline: "test", Sink: "crm", Key: d.Change.Key, Version: d.Change.Version,
				Index: i, Class: "write", Error: "refused", Raw: d.Change.Raw, Time: time.Now(),
			}
		}
		return f.Call(len(letters), func(n int) error { return store.Put(ctx, letters[:n]) })
	})
}

func state(store deadletter.Store) (map[string]string, error) {
	got := make(map[string]string)
	ids := make(map[string]bool)
	for l, err := range store.Read(context.Background()) {
		if err != nil {
			return nil, err
		}
		if ids[deadletter.ID(&l)] {
			return nil, fmt.Errorf("the letter %s is there twice", deadletter.ID(&l))
		}
		ids[deadletter.ID(&l)] = true
		got[place(l.Key, l.Version)] = string(l.Raw)
	}
	return got, nil
}
