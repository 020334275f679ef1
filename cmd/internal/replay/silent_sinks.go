package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

const (
	minSilentChanges = 10 // a sink without writes is reported if it has seen at least this many changes
	maxReasons       = 3
)

// SilentSink is a sink that has seen many changes and has written none of them.
type SilentSink struct {
	Sink    string        `json:"sink"`
	Changes int64         `json:"changes"`
	Reasons []ReasonCount `json:"reasons"` // up to three reasons, the most frequent first
}

// ReasonCount is the number of changes that a sink did not write for one reason.
type ReasonCount struct {
	Reason  string `json:"reason"`
	Changes int64  `json:"changes"`
}

// reasonTexts explain the reasons that sinks give. Any other reason is the name of a filter.
var reasonTexts = map[string]string{
	"of":           "the item is of another entity",
	"when":         "`when` is false",
	"sparse":       "the item has no value for its key or its index: is each name in the template spelled as in the table?",
	"no_event":     "no detector of the sink raised an event",
	"ttl_delete":   "the item expired",
	"region":       "another Region raises the event",
	"kind":         "`kinds` leaves it out",
	"removed":      "the item was removed",
	"expired":      "the item expired, and stays counted",
	"waiting":      "the sink waits for `tablewake backfill`",
	"before_floor": "the backfill of the sink has its result",
	deadLetters:    "could not be written",
}

const deadLetters = "dead letters"

// silentSinks returns the sinks that have seen many changes and written none. It leaves out a sink if one of its
// changes was superseded, coalesced, suppressed or revoked, or is pending, because that explains why it wrote nothing.
func silentSinks(l pipeline.Ledger) []SilentSink {
	var silent []SilentSink
	for _, name := range slices.Sorted(maps.Keys(l.Sinks)) {
		sink := l.Sinks[name]
		changes := sink.Routed + total(sink.RouteFiltered) + total(l.Source.Filtered)
		hasInnocentReason := sink.Written+sink.Superseded+sink.Suppressed+sink.Coalesced+sink.Pending+sink.Revoked > 0
		if changes < minSilentChanges || hasInnocentReason {
			continue
		}
		reasons := make(map[string]int64)
		for _, counts := range []map[string]int64{sink.NoEffect, sink.RouteFiltered, l.Source.Filtered} {
			for reason, n := range counts {
				reasons[reason] += n
			}
		}
		if letters := sink.DeadLettered + sink.Quarantined; letters > 0 {
			reasons[deadLetters] += letters
		}
		silent = append(silent, SilentSink{Sink: name, Changes: changes, Reasons: mostFrequent(reasons)})
	}
	return silent
}

// mostFrequent returns the reasons with the most changes, largest first.
func mostFrequent(reasons map[string]int64) []ReasonCount {
	counts := make([]ReasonCount, 0, len(reasons))
	for reason, n := range reasons {
		counts = append(counts, ReasonCount{reason, n})
	}
	slices.SortFunc(counts, func(a, b ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), strings.Compare(a.Reason, b.Reason))
	})
	return counts[:min(len(counts), maxReasons)]
}

// writeSilentSinks prints the silent sinks. Sinks that are silent for the same reasons are printed together. A common
// reason is a filter that all sinks share.
func writeSilentSinks(w io.Writer, silent []SilentSink) {
	for len(silent) > 0 {
		first := silent[0]
		hasSameReasons := func(s SilentSink) bool {
			return s.Changes == first.Changes && slices.Equal(s.Reasons, first.Reasons)
		}
		var names []string
		for _, s := range silent {
			if hasSameReasons(s) {
				names = append(names, s.Sink)
			}
		}
		first.writeReasons(w, yamlbind.Enumerate(names, "and"))
		silent = slices.DeleteFunc(slices.Clone(silent), hasSameReasons)
	}
}

// writeReasons prints why the named sinks, which have the same reasons as s, wrote nothing.
func (s SilentSink) writeReasons(w io.Writer, names string) {
	fmt.Fprintf(w, "%s wrote nothing of %s:\n", names, cli.Count(s.Changes, "change"))
	for _, r := range s.Reasons {
		text := cmp.Or(reasonTexts[r.Reason], "the filter of that name drops it")
		fmt.Fprintf(w, "  %s: %s (%s)\n", cli.Thousands(r.Changes), text, r.Reason)
	}
}

// outcomeTexts explains those outcomes of deliveries whose names do not say enough.
var outcomeTexts = []struct {
	outcome, text string
	count         func(pipeline.SinkLedger) int64
}{
	{"superseded", "a newer version of the item was stored already",
		func(l pipeline.SinkLedger) int64 { return l.Superseded }},
	{"coalesced", "a later change of the item was written in its place",
		func(l pipeline.SinkLedger) int64 { return l.Coalesced }},
	{"suppressed", "held back, as notifications are without --notify",
		func(l pipeline.SinkLedger) int64 { return l.Suppressed }},
	{"quarantined", "not tried, because an earlier change of the item is a dead letter",
		func(l pipeline.SinkLedger) int64 { return l.Quarantined }},
	{"revoked", "left to another consumer, which took over the shard",
		func(l pipeline.SinkLedger) int64 { return l.Revoked }},
}

// writeOutcomes explains the outcomes that at least one sink has.
func writeOutcomes(w io.Writer, sinks map[string]pipeline.SinkLedger) {
	for _, o := range outcomeTexts {
		hasOutcome := func(l pipeline.SinkLedger) bool { return o.count(l) > 0 }
		if slices.ContainsFunc(slices.Collect(maps.Values(sinks)), hasOutcome) {
			fmt.Fprintf(w, "%s: %s\n", o.outcome, o.text)
		}
	}
}
