package pipeline

import (
	"context"
	"testing"
)

// eventless is a sink that looks at no events.
type eventless struct{ SinkFunc }

func (eventless) IgnoresEvents() bool { return true }

// TestEventIgnorer: events have ids as soon as one sink may see them, and are counted anyway.
func TestEventIgnorer(t *testing.T) {
	for _, c := range []struct {
		name  string
		other Sink // beside one that looks at no events; nil: none
		ids   bool
	}{
		{"nobody looks", nil, false},
		{"one may look", SinkFunc(func(context.Context, []Delivery) error { return nil }), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []Event
			routes := []Route{{Name: "a", Sink: eventless{func(_ context.Context, ds []Delivery) error {
				for _, d := range ds {
					seen = append(seen, d.Events...)
				}
				return nil
			}}}}
			if c.other != nil {
				routes = append(routes, Route{Name: "b", Sink: c.other})
			}
			p, err := New(Options{
				Name: "p", Routes: routes,
				Detectors: []NamedDetector{{Name: "any", Detector: DetectorFunc(func(dst []Event, _ *Change) ([]Event, error) {
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
			if len(seen) != 2 || p.Ledger().Events["any"] != 2 {
				t.Fatalf("%d events were seen, and %d counted, want 2", len(seen), p.Ledger().Events["any"])
			}
			for _, e := range seen {
				if e.Detector != "any" || (e.ID != "") != c.ids {
					t.Errorf("the event is %+v, want an id: %v", e, c.ids)
				}
			}
			if e := p.Explain(&page.Changes[0]); len(e.Events) != 1 || e.Events[0].ID == "" {
				t.Errorf("explained are %+v", e.Events)
			}
		})
	}
}
