package dir_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Every letter is in the folder, once. The sink of the suite is one that gives up
// on every change.
func TestConformance(t *testing.T) {
	sinktest.Run(t, sinktest.Suite{
		Open: func(path string) (sinktest.Store, error) {
			store, err := dir.New(dir.Options{Dir: path, FileBytes: 8000})
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink:  func(f *sinktest.Faults) (pipeline.Sink, error) { return givesUp(store, f), nil },
				State: func() (map[string]string, error) { return state(store) },
				Close: store.Close,
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

func place(k pipeline.Key, v pipeline.Version) string { return fmt.Sprintf("%s at %s", k, v) }

func givesUp(store *dir.Store, f *sinktest.Faults) pipeline.Sink {
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

func state(store *dir.Store) (map[string]string, error) {
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
