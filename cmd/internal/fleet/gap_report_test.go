package fleet_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// A repair reports the rate and the time left of its present step.
func TestRepairProgress(t *testing.T) {
	for want, r := range map[string]state.GapRepair{
		"": {At: now},
		"600 of 1,800 looked at, 10 a second, about 2m0s left": {Done: 600, Total: 1800, Since: now.Add(-time.Minute), At: now},
		"600 looked at, 10 a second":                           {Done: 600, Since: now.Add(-time.Minute), At: now},
		"600 of 600 looked at, 10 a second":                    {Done: 600, Total: 600, Since: now.Add(-time.Minute), At: now},
	} {
		if got := fleet.RepairProgress(r); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}

// If the file says on_gap: repair, or if a repair of the gap has begun, a gap is a problem until it is repaired. The
// problem says who repairs the gap, or which command does.
func TestReport_GapRepairs(t *testing.T) {
	for name, tt := range map[string]struct {
		repair  state.GapRepair
		repairs bool   // on_gap: repair
		problem string // "": no problem
		hint    string
		line    string
	}{
		"of a file that only reads on": {repair: state.GapRepair{Stage: state.GapOpen}, line: ", open)"},
		"open": {repair: state.GapRepair{Stage: state.GapOpen}, repairs: true,
			problem: "records of shard shard-c were lost; the sinks are not repaired yet", hint: "`tablewake gaps -c shop.yaml --live --repair --audit` does, too", line: ", open)"},
		"being repaired": {repair: state.GapRepair{Stage: state.GapRepairing, Run: "r", Owner: "task-1-x", Expires: now.Add(time.Minute), At: ago(20 * time.Second)}, repairs: true,
			problem: "task-1-x repairs the sinks, as it noted 20s ago", hint: "it ends by itself", line: ", repairing by task-1-x)"},
		"its repairer died": {repair: state.GapRepair{Stage: state.GapRepairing, Run: "r", Owner: "task-1-x", Expires: ago(time.Second)}, repairs: true,
			problem: "task-1-x repaired the sinks, and ended before it was done", hint: "a consumer continues with it", line: ", repairing by task-1-x)"},
		"by a command that died": {repair: state.GapRepair{Stage: state.GapRepairing, Run: "r", Owner: "laptop", Expires: ago(time.Second)},
			problem: "laptop repaired the sinks, and ended before it was done", hint: "`tablewake gaps -c shop.yaml --live --repair --audit` continues with it", line: ", repairing by laptop)"},
		"something is left": {repair: state.GapRepair{Stage: state.GapOpen, Run: "r", Left: 3}, repairs: true,
			problem: "a repair of the sinks left 3 differences", hint: "a consumer tries again", line: ", open)"},
		"it did not end": {repair: state.GapRepair{Stage: state.GapOpen, Run: "r"}, repairs: true,
			problem: "a repair of the sinks did not end", hint: "a consumer continues with it", line: ", open)"},
		"repaired": {repair: state.GapRepair{Stage: state.GapRepaired, Run: "r", How: "audit", At: ago(time.Hour), Differences: 2, Repaired: 2}, repairs: true,
			line: ", repaired)"},
	} {
		t.Run(name, func(t *testing.T) {
			obs := healthy()
			obs.Flags, obs.RepairsGaps = "-c shop.yaml --live", tt.repairs
			g := state.NewNotedGap(record.Gap{StreamARN: arn, Shard: "shard-c", After: "900", Before: "950", Found: ago(2 * time.Hour)}, now)
			g.Repair = tt.repair
			obs.Gaps = []state.NotedGap{g}
			r := obs.Report()
			switch {
			case tt.problem == "" && len(r.Problems) > 0, tt.problem != "" && len(r.Problems) != 1, r.Healthy != (tt.problem == ""):
				t.Fatalf("problems %+v, healthy %v", r.Problems, r.Healthy)
			case tt.problem == "":
			case r.Problems[0].Kind != fleet.NotRepaired || r.Problems[0].Subject != "shard-c" || !strings.Contains(r.Problems[0].Text, tt.problem) || !strings.Contains(r.Problems[0].Hint, tt.hint):
				t.Errorf("problem %+v", r.Problems[0])
			}
			var text bytes.Buffer
			if r.Write(&text, true); !strings.Contains(text.String(), tt.line) {
				t.Errorf("%q is not in\n%s", tt.line, text.String())
			}
		})
	}
}
