package fleet_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/sinks/state"
)

// A report has the rate and the time left of a stored backfill, and nothing of a backfill that is not stored.
func TestReport_Fills(t *testing.T) {
	obs := healthy()
	obs.Births = []state.Birth{
		{Sink: "a", Stage: state.Filling, Run: "run1"}, {Sink: "b", Stage: state.Filling, Run: "unknown"},
		{Sink: "c", Stage: state.Filling, Run: "run2"}, {Sink: "d", Stage: state.Settling, Run: "run3"},
		{Sink: "e", Stage: state.Filling, Run: "run4"},
	}
	obs.Fills = map[string]fleet.BackfillProgress{
		"run1": {Backfill: state.Backfill{Run: "run1", Start: ago(10 * time.Minute), Parts: 5}, Done: 2, Items: 6000},
		"run2": {Backfill: state.Backfill{Run: "run2", Start: ago(10 * time.Minute), Parts: 5}},
		"run3": {Backfill: state.Backfill{Run: "run3", Start: ago(10 * time.Minute), Parts: 5}, Done: 5, Items: 7},
		"run4": {Backfill: state.Backfill{Run: "run4", Source: "archive a", Start: ago(10 * time.Minute)}},
	}
	r := obs.Report()
	a, b, c, d := r.PendingSinks[0], r.PendingSinks[1], r.PendingSinks[2], r.PendingSinks[3]
	if *a.PartsDone != 2 || *a.Items != 6000 || *a.Rate != 10 || *a.Left != 900 {
		t.Errorf("a is %+v", a)
	}
	if b.Started != nil || b.PartsDone != nil || b.Items != nil || b.Rate != nil || b.Left != nil {
		t.Errorf("b is unknown, and is %+v", b)
	}
	if *c.PartsDone != 0 || *c.Items != 0 || c.Left != nil {
		t.Errorf("nothing of c is written, and it is %+v", c)
	}
	if e := r.PendingSinks[4]; e.Started == nil || e.PartsDone != nil || e.Items != nil || e.Rate != nil {
		t.Errorf("e is filled from an archive, and is %+v", e)
	}
	if *d.PartsDone != 5 || d.Rate != nil || d.Left != nil {
		t.Errorf("d is read, and is %+v", d)
	}
}
