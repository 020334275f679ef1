package run

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// If a sample contains no item and no entry, the audit is incomplete.
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

// OpenAfter counts what an audit left open without listing it in the report. A later audit of this report cannot close
// these questions.
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
