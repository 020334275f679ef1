package state

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GapStage is the progress of the repair of a gap. A gap is a range of records that were lost before they were read.
type GapStage string

// The stages of a gap.
const (
	GapOpen      GapStage = "open"      // no repair was made, or differences remain after a repair
	GapRepairing GapStage = "repairing" // a process repairs the gap, or it ended before the repair was finished
	GapRepaired  GapStage = "repaired"  // the sinks were compared with the table, and no difference remains
)

// GapRepair is the progress and the result of the repair of a gap.
type GapRepair struct {
	Stage GapStage `json:"stage"`
	Run   string   `json:"run,omitempty"` // random id of the repair; "" before the first repair

	// Owner is the process that repairs the gap; "" if no process does. After Expires, any process may take the repair
	// over.
	Owner   string    `json:"owner,omitempty"`
	Expires time.Time `json:"expires,omitzero"`

	How     string   `json:"how,omitempty"`     // "export" or "audit"
	Exports []string `json:"exports,omitempty"` // exports that the items were found in, if How is "export"
	Sinks   []string `json:"sinks,omitempty"`   // names of the compared sinks

	Items       int64 `json:"items,omitempty"`       // number of compared items
	Differences int64 `json:"differences,omitempty"` // number of differences found
	Repaired    int64 `json:"repaired,omitempty"`    // number of differences repaired
	// Left is the number of remaining differences, and of entries that could not be compared.
	Left int64 `json:"left,omitempty"`

	// Done is the number of items, sink entries or differences that the current step of the repair has processed. Total
	// is the number that it has to process; 0 if unknown. The step began at Since.
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
	// AddGap stores a gap. If the gap is stored already, AddGap keeps its repair. But if the gap grew, its stage is
	// GapOpen again. If Found of the given gap is zero, the store sets Found to the current time, or keeps the stored
	// Found (see [NotedGap.NotedAgain]).
	pipeline.GapStore

	// Gaps yields all gaps. An error ends the sequence.
	Gaps(ctx context.Context) iter.Seq2[NotedGap, error]

	// SetGapRepair replaces the repair of the gap with the StreamARN, Shard and After of g, and returns when r is
	// durable. r.Version is the version that was read. The store raises the version by one. SetGapRepair returns false
	// if the gap or its repair has changed since it was read, or if there is no such gap. If several processes call it
	// at once, one of them succeeds.
	SetGapRepair(ctx context.Context, g record.Gap, r GapRepair) (bool, error)
}

// NewNotedGap returns the record that a store keeps of the gap g when it is noted for the first time.
func NewNotedGap(g record.Gap, now time.Time) NotedGap {
	if g.Found.IsZero() {
		g.Found = now
	}
	return NotedGap{Gap: g, Repair: GapRepair{Stage: GapOpen, Version: 1}}
}

// NotedAgain returns the record that a store keeps after the gap was noted again, as g. If n is zero, the gap is noted
// for the first time.
func (n NotedGap) NotedAgain(g record.Gap, now time.Time) NotedGap {
	if n.Repair.Version == 0 {
		return NewNotedGap(g, now)
	}

	g.Found = n.foundAgain(g, now)
	next := NotedGap{Gap: g, Repair: n.Repair}
	if hasGrown(n.Gap, g) {
		next.Repair = GapRepair{Stage: GapOpen}
	}
	next.Repair.Version = n.Repair.Version + 1
	return next
}

// foundAgain returns the new Found of the gap n, which was noted again as g. If g.Found is set, it returns g.Found.
func (n NotedGap) foundAgain(g record.Gap, now time.Time) time.Time {
	if !g.Found.IsZero() {
		return g.Found
	}
	if isEndKnown(g) {
		return n.Found
	}

	// The end is unknown, so the gap may reach up to now. But if its end was unknown before, and n.Found is recent, it
	// has not grown, because the stream still has all records that were created since n.Found.
	isRecent := !now.After(n.Found.Add(minStreamRetention))
	if isRecent && !isEndKnown(n.Gap) {
		return n.Found
	}
	return now
}

// isEndKnown reports whether the end of a gap is known, by a sequence number or by a time.
func isEndKnown(g record.Gap) bool { return g.Before != "" || !g.To.IsZero() }

// minStreamRetention is the time for which a stream keeps every record. It is an hour less than DynamoDB's 24 hours,
// because clocks differ.
const minStreamRetention = 23 * time.Hour

// hasGrown reports whether next may contain records that stored does not contain.
func hasGrown(stored, next record.Gap) bool {
	becameWhole := next.Whole && !stored.Whole
	becameUnknown := next.UnknownExtent && !stored.UnknownExtent
	beginsEarlier := !stored.From.IsZero() && (next.From.IsZero() || next.From.Before(stored.From))
	endsAtLaterRecord := stored.Before != "" &&
		(next.Before == "" || record.CompareSequence(next.Before, stored.Before) > 0)
	return becameWhole || becameUnknown || beginsEarlier || endsAtLaterRecord || endsAtLaterTime(stored, next)
}

// endsAtLaterTime reports whether next may end later than stored.
func endsAtLaterTime(stored, next record.Gap) bool {
	switch {
	case !stored.To.IsZero():
		return next.To.IsZero() || next.To.After(stored.To)
	case next.To.IsZero():
		return next.Found.After(stored.Found)
	default:
		// The end became known. A record that was created after Found stayed in the stream for minStreamRetention. So the
		// gap has grown only if it ends later than that.
		return next.To.After(stored.Found.Add(minStreamRetention))
	}
}

// LastLost returns a time after which no record of the gap was created. It is the time of the first record after the
// gap or, if that is unknown, the time when the gap was found.
func LastLost(g record.Gap) time.Time {
	if g.To.IsZero() {
		return g.Found
	}
	return g.To
}

// SetRepair returns the record that a store keeps of the gap with the repair r. It returns false if r.Version is not
// the stored version, or if n is zero.
func (n NotedGap) SetRepair(r GapRepair) (NotedGap, bool) {
	if r.Version == 0 || r.Version != n.Repair.Version {
		return n, false
	}
	n.Repair = r
	n.Repair.Version++
	return n, true
}

// Text returns the repair as stores keep it: JSON.
func (r GapRepair) Text() string {
	text, err := json.Marshal(r)
	if err != nil { // json can encode every GapRepair
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
