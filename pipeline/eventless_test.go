package pipeline

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// eventless is a sink that ignores events.
type eventless struct{ SinkFunc }

func (eventless) IgnoresEvents() bool { return true }

// TestEventIgnorer checks that only the sinks that read events get them, and that events are counted in either case.
func TestEventIgnorer(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // whether another sink reads events
		shown int
	}{
		{"nobody looks", false, 0},
		{"one looks", true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []Event
			routes := []Route{{Name: "a", Sink: eventless{func(_ context.Context, ds []Delivery) error {
				for _, d := range ds {
					if len(d.Events) > 0 {
						t.Errorf("the sink that ignores events was shown %+v", d.Events)
					}
				}
				return nil
			}}}}
			if c.other {
				routes = append(routes, Route{Name: "b", Sink: SinkFunc(func(_ context.Context, ds []Delivery) error {
					for _, d := range ds {
						seen = append(seen, d.Events...)
					}
					return nil
				})})
			}
			p, err := New(Options{
				Name: "p", Routes: routes,
				Detectors: []NamedDetector{{Name: "any", Detector: DetectorFunc(func(dst []Event, _ *record.Change) ([]Event, error) {
					return append(dst, Event{Path: "Status"}), nil
				})}},
			})
			if err != nil {
				t.Fatal(err)
			}
			page := pageOf(map[string]int{}, "p", 1, "A", "B")
			if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
				t.Fatal(err)
			}
			if len(seen) != c.shown || p.Ledger().Events["any"] != 2 {
				t.Fatalf("%d events were seen, want %d, and %d counted, want 2", len(seen), c.shown, p.Ledger().Events["any"])
			}
			for _, e := range seen {
				if e.Detector != "any" || e.Path != "Status" || e.ID() != EventID(e.Change, "any", 0) {
					t.Errorf("the event is %+v, with the id %q", e, e.ID())
				}
			}
			if (&Event{}).ID() != "" {
				t.Error("an event of no change has an id")
			}
			if e := p.Explain(&page.Changes[0]); len(e.Events) != 1 || e.Events[0].ID() == "" {
				t.Errorf("explained are %+v", e.Events)
			}
		})
	}
}
