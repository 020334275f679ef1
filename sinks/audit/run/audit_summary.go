package run

import (
	"time"

	"github.com/tablewake/tablewake/sinks/audit"
)

// Summary is the result of an audit, the last line of its report, and the output of `audit -o json`.
type Summary struct {
	Run    string        `json:"run"`
	Report string        `json:"report,omitempty"` // path; "" if the report is not kept
	Source string        `json:"source"`
	Sinks  []SinkSummary `json:"sinks"`
	Items  int64         `json:"items"`
	// Undecodable is the number of items that could not be decoded, and were not compared.
	Undecodable int64 `json:"undecodable,omitempty"`
	Differing   int64 `json:"differing"` // entries that differ, including held ones
	Open        int64 `json:"open"`      // entries, items and sinks whose equality is unknown
	// OpenBefore is the part of Open that an earlier audit left open and that its report does not list.
	OpenBefore int64 `json:"open_before,omitempty"`
	// NothingSelected means that --key, --type, --key-prefix and --filter select no item.
	NothingSelected bool `json:"nothing_selected,omitempty"`
	// NothingSampled means that the segments of a sample hold no item and no entry of a sink.
	NothingSampled bool `json:"nothing_sampled,omitempty"`
	// Units is the number of read units that this process consumed for the table and the sinks.
	Units   float64 `json:"read_units,omitempty"`
	Seconds float64 `json:"seconds"` // run time of the process that ended the audit
	// Assumed is the assumption about the lag of the sinks, if the leases do not prove the lag.
	Assumed    string  `json:"assumed,omitempty"`
	Coverage   float64 `json:"coverage"`             // share of the table that was compared, 0 to 1
	Incomplete string  `json:"incomplete,omitempty"` // reason why the audit ended early; "" if it did not
}

// SinkSummary is the result for one sink.
type SinkSummary struct {
	Sink     string                  `json:"sink"`
	Expected int64                   `json:"expected"` // entries that the items should have
	Stored   int64                   `json:"stored"`   // entries that the sink holds
	Compared int64                   `json:"compared"` // places that were compared
	Findings map[audit.Verdict]int64 `json:"findings,omitempty"`

	// NotCompared says which places were not compared, with the reason; "" if all places were compared.
	NotCompared string `json:"not_compared,omitempty"`
	// Notes say which places of named items were not searched, with the reason.
	Notes []string `json:"notes,omitempty"`

	// UpperBound is the upper limit of the share of places that differ, with a confidence of 95 %. It is set for a
	// sample. It does not count groups, since many items count in each group.
	UpperBound *float64 `json:"upper_bound,omitempty"`
}

// Left returns the number of findings plus the number of undecodable items. It does not count the groups of a sink
// whose configuration makes a comparison impossible.
func (s *Summary) Left() int64 {
	n := s.Undecodable
	for i := range s.Sinks {
		for _, found := range s.Sinks[i].Findings {
			n += found
		}
	}
	return n
}

// Complete reports whether the audit compared everything that it had to compare, whether or not it found differences.
func (s *Summary) Complete() bool { return s.Incomplete == "" && s.Open == 0 }

// summary returns the result.
func (a *auditRun) summary() *Summary {
	t := &a.work.Tally
	s := &Summary{
		Run: a.work.Header.Run, Report: a.o.Report, Source: a.work.Header.Source, Items: t.Items, Undecodable: t.Undecodable,
		Open: t.Undecodable + a.work.Header.Open, OpenBefore: a.work.Header.Open,
		Units: a.readUnits(), Seconds: time.Since(a.started).Seconds(), Assumed: a.work.Header.Assumed, Coverage: 1,
	}
	if a.o.Sample != nil {
		s.Coverage = float64(len(a.o.Sample.Segments)) / float64(a.o.Sample.Of)
	}
	compared := int64(0)
	for i := range a.o.Sinks {
		sink := a.sinkSummary(i)
		if sink.NotCompared != "" {
			s.Open++
		}
		s.Differing += t.Sinks[i].differingEntries()
		s.Open += t.Sinks[i].undecidedEntries()
		s.Sinks = append(s.Sinks, sink)
		compared += sink.Compared
	}
	if s.Items == 0 {
		s.NothingSelected = a.o.ItemsSelected
		s.NothingSampled = !a.o.ItemsSelected && a.o.Sample != nil && compared == 0
	}
	if s.NothingSelected || s.NothingSampled {
		s.Open++
	}
	if a.timedOut {
		s.Coverage *= a.recheckedShare()
		s.Open += a.changing
		s.Incomplete = timeOverText(a.work.Phase)
	}
	return s
}

// timeOverText says that the time was over in a phase, and what to do.
func timeOverText(p phase) string {
	advice := "choose fewer of more segments, or allow more read units a second"
	if p == recheckGroups { // all contributions are read, even for a sample
		advice = "allow more read units a second, or leave large aggregates out"
	}
	return "the time was over while " + phaseTexts[p] + ": " + advice
}

// sinkSummary returns the result for one sink.
func (a *auditRun) sinkSummary(i int) SinkSummary {
	sink, t := a.o.Sinks[i], &a.work.Tally.Sinks[i]
	s := SinkSummary{Sink: sink.Name(), Expected: t.Expected, Stored: t.Stored, Compared: t.Compared,
		Findings: t.Findings, Notes: t.Notes}
	if a.o.Sample != nil {
		s.UpperBound = new(upperBound(t.differingEntries()-t.GroupsDiffering, t.Compared-t.Groups))
	}
	if groups, ok := sink.(audit.GroupSink); ok && a.o.Items != nil {
		s.NotCompared = groups.GroupsSkippedReason()
	}
	return s
}

// readUnits returns the read units of this process. A scan counts its own units: it has another limit than the sinks.
func (a *auditRun) readUnits() float64 {
	units := a.o.Budget.Units()
	if scan, ok := a.o.Items.(interface{ Units() float64 }); ok {
		units += scan.Units()
	}
	return units
}

// phaseTexts describe the phases for people.
var phaseTexts = map[phase]string{
	readItems: "the items were read", readSinks: "the sinks were read", compare: "the two were joined",
	recheck: "what differs was looked at again", recheckGroups: "groups were compared",
}

// recheckedShare returns the share of a sample that was rechecked at least once. It is 0 before the recheck begins.
func (a *auditRun) recheckedShare() float64 {
	isFirstRound := a.work.Phase == recheck && a.work.Round == 0
	switch {
	case a.work.Phase.findsSuspects():
		return 0
	case isFirstRound:
		return float64(a.work.File) / spoolFiles // all suspects of an item are in one file
	}
	return 1
}
