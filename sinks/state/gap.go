package state

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GapStage is how far the repair of a gap is.
type GapStage string

// The stages of a gap.
const (
	GapOpen      GapStage = "open"      // nothing is repaired, or not everything
	GapRepairing GapStage = "repairing" // a process repairs it, or ended before it was done
	GapRepaired  GapStage = "repaired"  // the sinks were compared with the table, and nothing is left
)

// GapRepair is what was done about a gap.
type GapRepair struct {
	Stage GapStage `json:"stage"`
	Run   string   `json:"run,omitempty"` // random id of the repair; "" before the first

	// Owner is the process that repairs the gap; "" if none does. After Expires anyone may take the repair over.
	Owner   string    `json:"owner,omitempty"`
	Expires time.Time `json:"expires,omitzero"`

	How     string   `json:"how,omitempty"`     // "export" or "audit"
	Exports []string `json:"exports,omitempty"` // the exports that named the items, with How "export"
	Sinks   []string `json:"sinks,omitempty"`   // the sinks that were compared

	Items       int64 `json:"items,omitempty"`       // number of items that were looked at
	Differences int64 `json:"differences,omitempty"` // number of differences that were found
	Repaired    int64 `json:"repaired,omitempty"`    // number of differences that were mended
	Left        int64 `json:"left,omitempty"`        // number of differences, and of places that could not be compared, in the end

	// Done and Total count what the present step of a repair has looked at and is to look at: items, entries of sinks, or
	// what differed. Total is 0 if it is unknown. The step began at Since.
	Done  int64     `json:"done,omitempty"`
	Total int64     `json:"total,omitempty"`
	Since time.Time `json:"since,omitzero"`

	At      time.Time `json:"at,omitzero"` // time of the last change
	Version int64     `json:"version"`     // raised by each change of the gap or of its repair
}

// NotedGap is a gap with its repair.
type NotedGap struct {
	record.Gap
	Repair GapRepair
}

// Gaps keeps the gaps of one pipeline.
type Gaps interface {
	// AddGap keeps the repair of a gap that is noted again, unless the gap grew: then the gap is open again. If
	// the Found of the gap is zero, the store sets it, or keeps it if only more became known of the gap.
	pipeline.GapStore

	// Gaps yields all gaps. A pulled error ends the sequence.
	Gaps(ctx context.Context) iter.Seq2[NotedGap, error]

	// SetGapRepair replaces the repair of the gap with the StreamARN, Shard and After of g, and returns when that is
	// durable. r.Version is the version that was read; the stored one is one higher. It returns false if
	// the gap or its repair changed since, or if there is no such gap. Several processes may call it at once: one of
	// them succeeds.
	SetGapRepair(ctx context.Context, g record.Gap, r GapRepair) (bool, error)
}

// NewNotedGap returns the gap g as a store keeps it at its first note.
func NewNotedGap(g record.Gap, now time.Time) NotedGap {
	if g.Found.IsZero() {
		g.Found = now
	}
	return NotedGap{Gap: g, Repair: GapRepair{Stage: GapOpen, Version: 1}}
}

// Again returns the gap as a store keeps it after it is noted again, as g. The zero NotedGap is noted for the first time. An end that is still unknown may be as late as
// the note, unless the stream surely kept what came after the first one.
func (n NotedGap) Again(g record.Gap, now time.Time) NotedGap {
	if n.Repair.Version == 0 {
		return NewNotedGap(g, now)
	}
	switch {
	case !g.Found.IsZero():
	case !endsKnown(g) && (endsKnown(n.Gap) || now.After(n.Found.Add(surelyKept))):
		g.Found = now
	default:
		g.Found = n.Found
	}
	next := NotedGap{Gap: g, Repair: n.Repair}
	if grew(n.Gap, g) {
		next.Repair = GapRepair{Stage: GapOpen}
	}
	next.Repair.Version = n.Repair.Version + 1
	return next
}

// endsKnown reports whether the end of a gap is known.
func endsKnown(g record.Gap) bool { return g.Before != "" || !g.To.IsZero() }

// surelyKept is how long a stream keeps records at least, with room for clocks that differ.
const surelyKept = 23 * time.Hour

// grew reports whether now may hold records that was does not. An end that becomes known adds none within surelyKept: the
// stream still had what came after the gap was found.
func grew(was, now record.Gap) bool {
	return now.Whole && !was.Whole ||
		now.UnknownExtent && !was.UnknownExtent ||
		was.Before != "" && (now.Before == "" || record.CompareSequence(now.Before, was.Before) > 0) ||
		!was.From.IsZero() && (now.From.IsZero() || now.From.Before(was.From)) ||
		!was.To.IsZero() && (now.To.IsZero() || now.To.After(was.To)) ||
		was.To.IsZero() && now.To.IsZero() && now.Found.After(was.Found) ||
		was.To.IsZero() && now.To.After(was.Found.Add(surelyKept))
}

// LastLost returns a time after which no record of the gap was created: that of the record after it, or of its
// detection.
func LastLost(g record.Gap) time.Time {
	if g.To.IsZero() {
		return g.Found
	}
	return g.To
}

// SetRepair returns the gap with the repair r as a store keeps it, and false if r.Version is not the version of the gap, or if the gap is zero.
func (n NotedGap) SetRepair(r GapRepair) (NotedGap, bool) {
	if n.Repair.Version != r.Version || r.Version == 0 {
		return n, false
	}
	n.Repair = r
	n.Repair.Version++
	return n, true
}

// Text returns the repair as stores keep it: JSON.
func (r GapRepair) Text() string {
	text, err := json.Marshal(r)
	if err != nil { // no value of it is refused
		panic(err)
	}
	return string(text)
}

// ParseGapRepair parses the text of [GapRepair.Text].
func ParseGapRepair(text string) (r GapRepair, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, errs.Errorf("the repair of a gap: %w", err)
	}
	return r, r.Check()
}

// Check returns an error if the repair has a stage that this program does not know.
func (r GapRepair) Check() error {
	switch r.Stage {
	case GapOpen, GapRepairing, GapRepaired:
		return nil
	}
	return errs.New("the repair of a gap has an unknown stage: use a newer tablewake")
}
