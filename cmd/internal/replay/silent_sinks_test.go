package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
)

// A sink that wrote nothing of many changes is reported with its most frequent reasons. A sink whose output is there
// already, or that saw few changes, is not reported.
func TestSilentSinks(t *testing.T) {
	sum := Summarize("shop", pipeline.Ledger{Sinks: map[string]pipeline.SinkLedger{
		"typo":       {Routed: 1400, NoEffect: map[string]int64{"sparse": 1400}, RouteFiltered: map[string]int64{"of": 900, "mine": 30}},
		"broken":     {Routed: 12, DeadLettered: 8, Quarantined: 4},
		"few":        {Routed: 9, NoEffect: map[string]int64{"when": 9}},
		"superseded": {Routed: 50, Superseded: 50},
		"quiet":      {Routed: 50, NoEffect: map[string]int64{"no_event": 20, "region": 10, "ttl_delete": 15, "x": 5}},
		"writes":     {Routed: 50, Written: 1, NoEffect: map[string]int64{"when": 49}},
		"held":       {Routed: 50, Suppressed: 1, NoEffect: map[string]int64{"no_event": 49}},
	}}, time.Second)
	var got bytes.Buffer
	writeSilentSinks(&got, sum.Silent)
	want := `broken wrote nothing of 12 changes:
  12: could not be written (dead letters)
quiet wrote nothing of 50 changes:
  20: no detector of the sink raised an event (no_event)
  15: the item expired (ttl_delete)
  10: another Region raises the event (region)
typo wrote nothing of 2,330 changes:
  1,400: the item has no value for its key or its index: is each name in the template spelled as in the table? (sparse)
  900: the item is of another entity (of)
  30: the filter of that name drops it (mine)
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Reset()
	writeOutcomes(&got, sum.Ledger.Sinks)
	want = `superseded: a newer version of the item was stored already
suppressed: held back, as notifications are without --notify
quarantined: not tried, because an earlier change of the item is a dead letter
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A filter of the whole pipeline is reported like a filter of a sink. Sinks that get nothing because of the filter are
// reported together.
func TestSilentSinks_FilterAbove(t *testing.T) {
	sum := Summarize("hotel", pipeline.Ledger{
		Source: pipeline.SourceLedger{Read: 635, Filtered: map[string]int64{"keep_key_prefix": 635}},
		Sinks:  map[string]pipeline.SinkLedger{"days": {}, "cities": {}, "guests": {Routed: 5, NoEffect: map[string]int64{"of": 5}}},
	}, time.Second)
	var got bytes.Buffer
	writeSilentSinks(&got, sum.Silent)
	want := `cities and days wrote nothing of 635 changes:
  635: the filter of that name drops it (keep_key_prefix)
guests wrote nothing of 640 changes:
  635: the filter of that name drops it (keep_key_prefix)
  5: the item is of another entity (of)
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
