// Package deadlettertest is the conformance suite of stores of dead letters.
package deadlettertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Suite is a kind of store under test.
type Suite struct {
	// Open opens the store in a folder, which may have content of an earlier Open. Letters belong to the pipeline
	// "test". closeStore closes the store; it may be nil. Open is required.
	Open func(dir string) (store deadletter.Store, closeStore func() error, err error)

	Checks int                    // see sinktest.Suite.Checks
	Stream sinktest.StreamOptions // options of the stream whose changes are dead-lettered
}

// Run checks that every letter is stored once, with a sink that dead-letters every change.
func Run(t *testing.T, s Suite) {
	sinktest.Run(t, sinktest.Suite{
		Checks: s.Checks,
		Stream: s.Stream,
		Open: func(dir string) (sinktest.Store, error) {
			store, closeStore, err := s.Open(dir)
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink:  func(f *sinktest.Faults) (pipeline.Sink, error) { return failingSink(store, f), nil },
				State: func() (map[string]string, error) { return state(store) },
				Close: closeStore,
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string {
			want := make(map[string]string)
			for i := range s.Records {
				want[letterName(s.Changes[i].Key, s.Changes[i].Version)] = string(s.Changes[i].Raw)
			}
			return want
		},
	})
}

func letterName(k item.Key, v record.Version) string { return fmt.Sprintf("%s at %s", k, v) }

// failingSink returns a sink that dead-letters every change.
func failingSink(store deadletter.Store, f *sinktest.Faults) pipeline.Sink {
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

// state returns the records of all letters. It returns an error if a letter occurs twice.
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
		got[letterName(l.Key, l.Version)] = string(l.Raw)
	}
	return got, nil
}
