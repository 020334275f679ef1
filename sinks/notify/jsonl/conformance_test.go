package jsonl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// The file contains each event exactly once.
func TestConformance(t *testing.T) {
	sinktest.Run(t, sinktest.Suite{
		Open: func(dir string) (sinktest.Store, error) {
			path := filepath.Join(dir, "events.jsonl")
			store, err := jsonl.New(jsonl.Options{Path: path})
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink: func(f *sinktest.Faults) (pipeline.Sink, error) {
					return notify.New(notify.Options{Pipeline: "test", Store: faulty{store, f}, Events: []string{"first", "second"}})
				},
				State: func() (map[string]string, error) { return state(path) },
				Close: store.Close,
			}, nil
		},
		Events: func(c *record.Change) []pipeline.Event {
			var events []pipeline.Event
			for i, detector := range []string{"first", "other", "second"} {
				events = append(events, pipeline.Event{Detector: detector, Path: fmt.Sprint("p", i), Change: c})
			}
			return events
		},
		Model: func(s *sinktest.Stream) map[string]string {
			want := make(map[string]string)
			for i, r := range s.Records {
				if r.TTL {
					continue
				}
				for _, detector := range []string{"first", "second"} {
					want[pipeline.EventID(s.Changes[i], detector, 0)] = "tablewake.test." + detector
				}
			}
			return want
		},
	})
}

// state returns the type of each event in the file, by the id of the event.
func state(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	got := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		var e struct{ ID, Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("%w in %q", err, line)
		}
		if _, twice := got[e.ID]; twice {
			return nil, fmt.Errorf("event %s is there twice", e.ID)
		}
		got[e.ID] = e.Type
	}
	return got, nil
}

// faulty is a store whose calls fail as the suite requests.
type faulty struct {
	notify.Store
	faults *sinktest.Faults
}

func (s faulty) Publish(ctx context.Context, ms []notify.Message) error {
	return s.faults.Call(len(ms), func(n int) error { return s.Store.Publish(ctx, ms[:n]) })
}
