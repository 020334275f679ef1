package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// An event contains no hidden value: not in its values, keys and subject, and not in an id that is derived from the
// key. The event is the same in each delivery.
func TestMasked(t *testing.T) {
	c := change(t, "MODIFY", "canary", "")
	v, _ := c.New.Get("PK")
	es := []pipeline.Event{
		{Detector: "moved", Path: "PK", New: v, Change: c},
		{Detector: "moved", Ordinal: 1, Path: "SK", Old: item.StringValue("open"), Change: c},
	}
	for _, test := range []struct {
		hidden []string
		shows  []string
		hides  []string
	}{
		{[]string{"PK"}, []string{`"SK":1`, `"old":"open"`, "masked-"}, []string{"canary", es[0].ID(), es[1].ID()}},
		{[]string{"Email"}, []string{"canary", es[0].ID(), es[1].ID()}, []string{"masked-"}},
		{[]string{"SK"}, []string{"canary", "masked-"}, []string{es[0].ID(), "open", `"SK":1`}},
	} {
		s, err := notify.New(notify.Options{Pipeline: "shop", Store: &publisher{}, Attributes: paths(t, "PK", "SK"), Mask: sinktest.Mask(t, test.hidden...)})
		if err != nil {
			t.Fatal(err)
		}
		var texts [2]string
		for i := range texts {
			d := pipeline.Delivery{Change: c, Events: es}
			if err := s.Plan(&d); err != nil || len(d.Ops) != 2 {
				t.Fatal(d.Ops, err)
			}
			for _, op := range d.Ops {
				m := op.(*notify.Message)
				if !json.Valid(m.Body) {
					t.Errorf("not JSON: %s", m.Body)
				}
				texts[i] += op.String() + string(m.Key) + m.ID + string(m.Body)
			}
		}
		for _, text := range test.shows {
			if !strings.Contains(texts[0], text) {
				t.Errorf("hiding %q it does not show %s: %s", test.hidden, text, texts[0])
			}
		}
		for _, text := range test.hides {
			if strings.Contains(texts[0], text) {
				t.Errorf("hiding %q it shows %s: %s", test.hidden, text, texts[0])
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("two deliveries send %s and %s", texts[0], texts[1])
		}
	}
	if es[0].Change != c || !es[0].New.Equal(v) {
		t.Error("the event that was given is changed")
	}
}
