package audit

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// Sink compares the items of the source table with one sink that keeps state. All methods may be called concurrently.
type Sink interface {
	// Name is the name of the sink.
	Name() string

	// ExpectedEntries yields the required entries of an item. c is the item as a SNAPSHOT; a removed item has none. An
	// error means that the item cannot be planned, and its stored entries are not compared. ExpectedEntries makes no
	// calls. It may keep texts of c.
	ExpectedEntries(c *record.Change, yield func(Entry)) error

	// StoredEntries yields all stored entries of the sink, in no order. It blocks while it reads. A pulled error ends
	// the sequence.
	StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error]

	// Compare reads the required entries of an item, and those at places, and compares them. c is the item as for
	// ExpectedEntries, or its REMOVE without images; nil for places of an unknown item. Compare uses only Kind and
	// Place of places. It returns one finding for each entry, also for equal ones. If the item cannot be compared, it
	// returns one finding with Skipped or Held and no Place. A finding with another Version than before means that the
	// place moved.
	Compare(ctx context.Context, c *record.Change, places []Entry) ([]Finding, error)

	// Note explains, for people, why an item has no place in the sink, or which of its places Compare does not search.
	// It returns "" if Compare searches all. c is as for Compare, but not nil. Note makes no calls.
	Note(c *record.Change) string

	// Repair writes the required entry at the place of a finding, if the stored entry still has the version of the
	// finding, and keeps that version. So a later change of the stream wins, and a second repair does nothing.
	// Concurrent repairs that write one row or group take turns. The caller makes the repairs of one item one after the
	// other.
	Repair(ctx context.Context, c *record.Change, f Finding) (Outcome, error)
}

// GroupSink is implemented by the sinks of aggregates. The required content of a group is the sum of all contributions.
type GroupSink interface {
	Sink

	// FindShares reads the groups that an item should count in. It does not compare their values, since other items
	// count in them, too. An existing group is Equal.
	FindShares(ctx context.Context, c *record.Change) ([]Finding, error)

	// CompareGroups compares the groups at places with the sum of the contributions. It reads all contributions once. A
	// group that changed meanwhile is Busy.
	CompareGroups(ctx context.Context, l state.Listing, places []string) ([]Finding, error)

	// WhyGroupsNotCompared returns the reason why the groups cannot be compared; "" if they can be.
	WhyGroupsNotCompared() string

	// RepairGroups sets the groups of findings to the sum of the contributions. It reads all contributions once. It
	// returns one Outcome for each finding, in their order. The repair of a contribution changes its groups, so look at
	// the groups again in between.
	RepairGroups(ctx context.Context, l state.Listing, fs []Finding) ([]Outcome, error)
}

// Verdict is the result of the comparison of one entry.
type Verdict string

// The verdicts.
const (
	Equal   Verdict = "equal"
	Missing Verdict = "missing" // it should exist, and does not
	Extra   Verdict = "extra"   // it exists, and should not
	Stale   Verdict = "stale"   // it exists with the contents of an older state of the item
	Wrong   Verdict = "wrong"   // it exists with other contents
	Waiting Verdict = "waiting" // the row is rightly owned by the claim of another item, which is not a difference
	Held    Verdict = "held"    // it differs, and a dead letter or a quarantined key explains it
	Busy    Verdict = "busy"    // it kept changing
	Skipped Verdict = "skipped" // it cannot be compared; Why has the reason
)

// Differs reports whether the verdict is a difference that can be repaired.
func (v Verdict) Differs() bool { return v == Missing || v == Extra || v == Stale || v == Wrong }

// Finding is the result of the comparison of one entry. The texts for people are masked; Place, Item and Owner may hold
// sensitive values.
type Finding struct {
	Kind       Kind     `json:"kind,omitempty"`
	Place      string   `json:"place,omitempty"` // as in Entry; "" in a finding about the whole item
	PlaceText  string   `json:"where,omitempty"` // the place, for people
	Item       item.Key `json:"item,omitempty"`  // the item that was compared; "" for a group
	Expected   bool     `json:"expected"`        // the item should have an entry there
	Verdict    Verdict  `json:"verdict"`
	Underlying Verdict  `json:"otherwise,omitempty"` // for a Held finding: the verdict without the dead letter
	FoundText  string   `json:"found,omitempty"`     // the stored entry, for people
	Owner      item.Key `json:"owner,omitempty"`     // the item whose row is stored, if it is another item
	// Version is the version of the change that wrote the stored entry or tombstone; zero if there is none.
	Version record.Version `json:"-"`
	// Guard is the version of the item's guard, for a claim, and for a row that is guarded by item.
	Guard record.Version `json:"-"`
	// Revision is the revision of the last write of a group or of the claims on a row; "" for other entries.
	Revision string `json:"revision,omitempty"`
	// Differences has the names of the differing attributes, or a line for each difference.
	Differences []string       `json:"differs,omitempty"`
	Reason      string         `json:"why,omitempty"`     // reason of Held or Skipped
	Command     string         `json:"command,omitempty"` // the command that repairs the cause of Held
	Waiting     []WaitingClaim `json:"-"`                 // claims that wait for the row
}

// WaitingClaim is a claim that waits for a row.
type WaitingClaim struct {
	Item    string // the item's key, for people
	Version record.Version
}

// Outcome is the result of one repair.
type Outcome struct {
	Result    Result `json:"result"`
	WriteText string `json:"wrote,omitempty"` // the write that was made, or would be, for people, masked
	Reason    string `json:"why,omitempty"`   // reason why nothing was written
	Overtaken bool   `json:"-"`               // for Moved: another write came after the look; another try may repair the rest
}

// Result is the result of a repair.
type Result string

// The results.
const (
	Repaired         Result = "repaired" // the place is written; with Options.DryRun it would be
	AlreadyEqual     Result = "equal"    // there is no difference any more
	ChangedMeanwhile Result = "moved"    // the stored entry has another version than the finding
	Refused          Result = "refused"  // it cannot be repaired; Why has the reason
)

// Options configure Open.
type Options struct {
	Sinks []string // names of the sinks. Default: all that keep state
	// CommandFlags has the flags of the command for the file and the stores, as in "-c tablewake.yaml --live", for
	// Finding.Command.
	CommandFlags string
	// AllowUnfilled means that sinks that wait for their backfill, or are being filled, are opened too. Default: Open
	// refuses them.
	AllowUnfilled    bool
	DryRun           bool // Repair writes nothing, and returns the write that it would make
	GroupConcurrency int  // groups that RepairGroups repairs concurrently. Default: 16

	Extensions []sinks.Extension // the program's Go code; an audit runs its filters. Default: none
}
