package aws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Each event arrives, even if changes are repeated or late, or if a process crashes between two steps.
func TestConformance(t *testing.T) {
	for _, of := range services {
		if of.name == "fifo topic" || testing.Short() && !strings.Contains(of.name, "queue") {
			continue // moto is slow, and treats a FIFO topic like any other topic
		}
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, sinktest.Suite{
				Open:   opener(t, of),
				Checks: 2,
				Stream: sinktest.StreamOptions{Records: 12},
				Events: func(c *record.Change) []pipeline.Event {
					var events []pipeline.Event
					for i, detector := range []string{"first", "other", "second"} {
						events = append(events, pipeline.Event{Detector: detector, Path: fmt.Sprint("p", i), New: item.StringValue("\uffff\u0000<"), Change: c})
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
		})
	}
}

// opener returns a function that opens the store of a folder. A queue or topic outlives the processes of the test. All
// folders share one queue, which is emptied for each new folder. Only a FIFO queue is replaced by a new queue, because
// a FIFO queue remembers the ids of earlier events.
func opener(t *testing.T, of service) func(dir string) (sinktest.Store, error) {
	at := ""
	store, queue := of.open(t, nil, nil)
	return func(dir string) (sinktest.Store, error) {
		switch {
		case at != "" && dir != at && of.name == "fifo queue":
			store, queue = of.open(t, nil, nil)
		case dir != at:
			if err := queue.empty(); err != nil {
				return sinktest.Store{}, err
			}
		}
		at = dir
		return sinktest.Store{
			Sink: func(f *sinktest.Faults) (pipeline.Sink, error) {
				return notify.New(notify.Options{Pipeline: "test", Store: faulty{store, f}, Events: []string{"first", "second"}})
			},
			State: func() (map[string]string, error) { return state(queue) },
		}, nil
	}
}

// state returns the type of each event that arrived, by the id of the event. An event that arrives again must be equal.
func state(q *queue) (map[string]string, error) {
	arrived, err := q.drain()
	if err != nil {
		return nil, err
	}
	got, bodies := make(map[string]string), make(map[string]string)
	for _, m := range arrived {
		e, err := event(*m.Body)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%+v", e)
		if first, again := bodies[e.ID]; again && first != text {
			return nil, fmt.Errorf("event %s came as %s and as %s", e.ID, first, text)
		}
		bodies[e.ID] = text
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
