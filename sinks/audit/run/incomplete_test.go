package run

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// A sample that has nothing tells nothing.
func TestAudit_EmptySample(t *testing.T) {
	w := newTestWorld(0)
	o := w.auditOptions(filepath.Join(t.TempDir(), "report.jsonl"))
	o.Sample = &Sample{Segments: []int{2}, Of: testParts}
	o.Header.Sample = o.Sample
	sum, err := Audit(t.Context(), o)
	if err != nil || sum.Complete() || sum.Open != 1 || !sum.NothingSampled {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A second look at a report is as incomplete as the audit was about findings that the report does not list.
func TestOpenAfter(t *testing.T) {
	for name, c := range map[string]struct {
		header Header
		sum    *Summary
		sinks  []string
		want   int64
	}{
		"complete":       {sum: &Summary{Coverage: 1}},
		"did not end":    {want: 1},
		"chained":        {header: Header{Open: 2}, want: 3},
		"listed":         {sum: &Summary{Coverage: 1, Open: 3, Sinks: []SinkSummary{{Findings: map[audit.Verdict]int64{audit.Busy: 1, audit.Skipped: 2}}}}},
		"undecodable":    {sum: &Summary{Coverage: 1, Open: 2, Undecodable: 2}, want: 2},
		"sample":         {sum: &Summary{Coverage: 0.5}, want: 1},
		"time over":      {sum: &Summary{Coverage: 1, Open: 1, Incomplete: "the time was over"}, want: 2},
		"groups":         {sum: &Summary{Coverage: 1, Open: 1, Sinks: []SinkSummary{{Sink: "a", NotCompared: "why"}}}, sinks: []string{"a"}, want: 1},
		"groups of none": {sum: &Summary{Coverage: 1, Open: 1, Sinks: []SinkSummary{{Sink: "a", NotCompared: "why"}}}, sinks: []string{"b"}},
	} {
		if got := OpenAfter(&c.header, c.sum, c.sinks); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
