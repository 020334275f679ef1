package run

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

// If the time of an audit is over, the audit is incomplete, whatever it was doing. The summary does not cover the parts
// of the table that the audit did not read. Each finding of its report is also in the report of a complete audit.
func TestAudit_EndsInTime(t *testing.T) {
	spoiled := func() (w *world, want map[string]audit.Verdict) {
		w = newTestWorld(400)
		want = w.spoil(rand.New(rand.NewPCG(3, 3)), 40)
		for place, v := range want {
			if v == audit.Skipped { // a skipped item would keep the audit incomplete
				w.put(item.Key(place), "v")
				delete(want, place)
			}
		}
		return w, want
	}
	phases := map[string]bool{}
	complete := false
	for until := time.Millisecond; !complete; until += until/4 + time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			w, want := spoiled()
			w.pause = 5 * time.Millisecond // the time can be over in the middle of a round
			path := filepath.Join(t.TempDir(), "report.jsonl")
			o := w.auditOptions(path)
			o.Sample = &Sample{Segments: []int{0, 1, 2, 3, 4, 5, 6, 7}, Of: testParts}
			o.Header.Sample, o.Deadline = o.Sample, time.Now().Add(until)
			o.WaitForStream = func(ctx context.Context) { _ = pipeline.Sleep(ctx, time.Millisecond) }
			o.WaitForConsumers = func(ctx context.Context, _ time.Time) error { return pipeline.Sleep(ctx, 100*time.Millisecond) }
			sum, err := Audit(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			found := findings(t, path)
			for place, v := range found {
				if want[place] != v {
					t.Errorf("in %s %q is %s, want %s", until, place, v, want[place])
				}
			}
			complete = sum.Complete()
			phases[sum.Incomplete] = true
			switch {
			case complete != (sum.Incomplete == "") || complete && !(maps.Equal(found, want) && sum.Coverage == 1 && sum.Open == 0):
				t.Errorf("in %s %d of %d differences are found: %+v", until, len(found), len(want), sum)
			case w.looks == 0 && sum.Coverage != 0, sum.Coverage < 1 && sum.Coverage > 0 && sum.Sinks[0].Compared == 0:
				t.Errorf("in %s nothing was compared: %+v", until, sum)
			case sum.Coverage == 1 && !complete && sum.Open != int64(len(want)-len(found)):
				t.Errorf("in %s %d of %d differences are found, and %d suspects are open", until, len(found), len(want), sum.Open)
			}
		})
		if t.Failed() {
			return
		}
	}
	if len(phases) < 3 { // the time was over in at least two phases, and one audit was complete
		t.Errorf("it ended so: %v", phases)
	}
}
