package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ledger counts every record once at the source, and once at each sink that it was routed to.
type Ledger struct {
	Source SourceLedger          `json:"source"`
	Sinks  map[string]SinkLedger `json:"sinks"`
	Events map[string]int64      `json:"events"` // by detector
}

// SourceLedger balances: Read = Duplicate + sum(Filtered) + Unrouted + Undecodable + Routed.
type SourceLedger struct {
	Read        int64            `json:"read"`
	Duplicate   int64            `json:"duplicate"`
	Filtered    map[string]int64 `json:"filtered"` // by reason
	Unrouted    int64            `json:"unrouted"` // the filters of every route drop them
	Undecodable int64            `json:"undecodable"`
	Routed      int64            `json:"routed"`
}

// SinkLedger balances: Routed = Written + Superseded + sum(NoEffect) + Coalesced + Suppressed + DeadLettered +
// Quarantined + Revoked + Pending.
type SinkLedger struct {
	Routed       int64            `json:"routed"`
	Written      int64            `json:"written"`
	Superseded   int64            `json:"superseded"`
	NoEffect     map[string]int64 `json:"no_effect"` // by reason
	Coalesced    int64            `json:"coalesced"`
	Suppressed   int64            `json:"suppressed"`
	DeadLettered int64            `json:"dead_lettered"`
	Quarantined  int64            `json:"quarantined"`
	// Revoked counts deliveries that this run leaves to another consumer, to the next run, or to Lambda (a nack). See
	// Control.
	Revoked int64 `json:"revoked"`
	Pending int64 `json:"pending"`
	// RouteFiltered counts the changes that filters of the route dropped, by reason. They are not part of Routed.
	RouteFiltered map[string]int64 `json:"dropped"`
}

// DeadLetterCount returns the number of dead letters. There is one for each record that could not be decoded. There is
// also one for each delivery that failed permanently or whose key was in quarantine.
func (l Ledger) DeadLetterCount() int64 {
	n := l.Source.Undecodable
	for _, sink := range l.Sinks {
		n += sink.DeadLettered + sink.Quarantined
	}
	return n
}

// Check returns nil if all ledgers balance. Otherwise it returns an error with a line for each ledger that does not.
func (l Ledger) Check() error {
	var unbalanced []string
	s := l.Source
	if sum := s.Duplicate + sumOf(s.Filtered) + s.Unrouted + s.Undecodable + s.Routed; sum != s.Read {
		unbalanced = append(unbalanced, fmt.Sprintf(
			"source: read %d, but duplicate %d + filtered %d + unrouted %d + undecodable %d + routed %d = %d",
			s.Read, s.Duplicate, sumOf(s.Filtered), s.Unrouted, s.Undecodable, s.Routed, sum))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Sinks)) {
		sink := l.Sinks[name]
		sum := sink.Written + sink.Superseded + sumOf(sink.NoEffect) + sink.Coalesced + sink.Suppressed + sink.DeadLettered +
			sink.Quarantined + sink.Revoked + sink.Pending
		if sum != sink.Routed {
			unbalanced = append(unbalanced, fmt.Sprintf(
				"sink %s: routed %d, but written %d + superseded %d + no_effect %d + coalesced %d + suppressed %d + dead_lettered %d + quarantined %d + revoked %d + pending %d = %d",
				name, sink.Routed, sink.Written, sink.Superseded, sumOf(sink.NoEffect), sink.Coalesced, sink.Suppressed,
				sink.DeadLettered, sink.Quarantined, sink.Revoked, sink.Pending, sum))
		}
	}
	if len(unbalanced) > 0 {
		return errs.Errorf("the ledger does not balance: %s", strings.Join(unbalanced, "; "))
	}
	return nil
}

func sumOf(m map[string]int64) int64 {
	var n int64
	for _, v := range m {
		n += v
	}
	return n
}

// addFinished adds n finished deliveries. The caller subtracts them from Pending.
func (l *SinkLedger) addFinished(o Outcome, reason string, n int64) {
	if o == NoEffect {
		l.NoEffect[reason] += n
	} else {
		*l.counterOf(o) += n
	}
}

// counterOf returns the counter of an outcome. It returns nil for NoEffect, which is counted by reason.
func (l *SinkLedger) counterOf(o Outcome) *int64 {
	return [...]*int64{
		Written: &l.Written, Superseded: &l.Superseded, Coalesced: &l.Coalesced, Suppressed: &l.Suppressed,
		DeadLettered: &l.DeadLettered, Quarantined: &l.Quarantined, Revoked: &l.Revoked,
	}[o]
}

// reasonCounts counts the dropped changes of a page by reason. There are few reasons, so a slice costs less than a map
// for each page.
type reasonCounts []reasonCount

type reasonCount struct {
	reason string
	n      int64
}

func (t *reasonCounts) add(reason string) {
	for i := range *t {
		if (*t)[i].reason == reason {
			(*t)[i].n++
			return
		}
	}
	*t = append(*t, reasonCount{reason, 1})
}

func (t reasonCounts) addTo(m map[string]int64) {
	for _, c := range t {
		m[c.reason] += c.n
	}
}
