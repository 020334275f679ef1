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

	// ExpectedEntries yields the required entries of an item. c is the item as a SNAPSHOT. A removed item has no
	// required entries. An error means that the item cannot be planned; the caller then does not compare its stored
	// entries. ExpectedEntries makes no calls. It may keep texts of c.
	ExpectedEntries(c *record.Change, yield func(Entry)) error

	// StoredEntries yields all stored entries of the sink, in no order. It blocks while it reads. The sequence ends
	// after the first error.
	StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error]

	// Compare reads the stored entries at the required places of an item and at the given places, and compares them
	// with the required entries. known is nil if the item of the places is unknown. Of each element of places, Compare
	// uses only Kind and Place.
	//
	// Compare returns one finding for each entry, also for an equal entry. If the item cannot be compared, it returns
	// one finding with the verdict Skipped or Held and without a Place. If the Version of a finding differs from an
	// earlier finding of the same place, the place changed in between.
	Compare(ctx context.Context, known *ItemState, places []Entry) ([]Finding, error)

	// Note returns a text for people: why an item has no place in the sink, or which of its places Compare does not
	// search. It returns "" if Compare searches all places. c is the item as a SNAPSHOT, or its REMOVE. Note makes no
	// calls.
	Note(c *record.Change) string

	// Repair writes the required entry at the place of a finding, if the stored entry has not changed since it was found.
	// The version of the repaired entry comes after the stored one, or is that of a newer saved record. So a later change
	// of the stream wins over it. A second repair does nothing. Concurrent repairs that write the same row or group take
	// turns. The caller makes the repairs of one item one after the other.
	Repair(ctx context.Context, known *ItemState, f Finding) (Outcome, error)
}

// GroupSink is implemented by the sinks of aggregates. The required content of a group is the sum of its contributions.
type GroupSink interface {
	Sink

	// FindGroups reads the groups that an item should count in. It reports an existing group as Equal without comparing
	// its values, since other items may count in the group, too.
	FindGroups(ctx context.Context, c *record.Change) ([]Finding, error)

	// CompareGroups compares the groups at places with the sums of their contributions. It reads all contributions
	// once. A group that changed meanwhile gets the verdict Busy.
	CompareGroups(ctx context.Context, l state.Listing, places []string) ([]Finding, error)

	// GroupsSkippedReason returns the reason why the groups cannot be compared; "" if they can be.
	GroupsSkippedReason() string

	// RepairGroups sets the groups of findings to the sums of their contributions. It reads all contributions once, and
	// returns one Outcome for each finding, in the order of fs. The repair of a contribution changes its groups, so the
	// caller must compare the groups again after such repairs.
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
	Waiting Verdict = "waiting" // the claim of another item rightly owns the row; this is not a difference
	Held    Verdict = "held"    // it differs, and a dead letter or a quarantined key explains it
	Busy    Verdict = "busy"    // it kept changing
	Skipped Verdict = "skipped" // it cannot be compared; Reason has the reason
)

// Differs reports whether the verdict is a difference that a repair can remove.
func (v Verdict) Differs() bool { return v == Missing || v == Extra || v == Stale || v == Wrong }

// Finding is the result of the comparison of one entry. The texts for people are masked. Place, Item and Owner may hold
// sensitive values.
type Finding struct {
	Kind       Kind     `json:"kind,omitempty"`
	Place      string   `json:"place,omitempty"` // as in Entry; "" in a finding about the whole item
	PlaceText  string   `json:"where,omitempty"` // the place, for people
	Item       item.Key `json:"item,omitempty"`  // the item that was compared; "" for a group
	Expected   bool     `json:"expected"`        // the item should have an entry at the place
	Verdict    Verdict  `json:"verdict"`
	Underlying Verdict  `json:"otherwise,omitempty"` // the verdict without the Reason of Held or Skipped
	FoundText  string   `json:"found,omitempty"`     // the stored entry, for people
	Owner      item.Key `json:"owner,omitempty"`     // the item whose row is stored, if it is another item
	// Version is the version of the change or repair that wrote the stored entry or tombstone; zero if there is none.
	Version record.Version `json:"-"`
	// Guard is the version of the item's guard, or of the item's contribution in a view with for_each. It is set for
	// rows, claims, owners and contributions that depend on this version, and zero for other entries.
	Guard record.Version `json:"-"`
	// Revision is the revision of the last write of a group or of the claims on a row; "" for other entries.
	Revision string `json:"revision,omitempty"`
	// Differences has the names of the differing attributes, or a line for each difference.
	Differences []string       `json:"differs,omitempty"`
	Reason      string         `json:"why,omitempty"`     // reason of Held or Skipped
	Command     string         `json:"command,omitempty"` // the command that repairs the cause of Held
	Waiting     []WaitingClaim `json:"-"`                 // claims that wait for the row
	// Unread means that the sink may have a change that the state of the item does not have: see ItemState.MayLack.
	Unread bool `json:"-"`

	hasOtherVersion bool // Version belongs to another sink or to another item
}

// WaitingClaim is a claim that waits for a row.
type WaitingClaim struct {
	Item    string // the item's key, for people
	Version record.Version
}

// Outcome is the result of one repair of a place.
type Outcome struct {
	Result    Result `json:"result"`
	WriteText string `json:"wrote,omitempty"` // the write that was made or would be made; for people, masked
	Reason    string `json:"why,omitempty"`   // reason why nothing was written
	// Overtaken is set with ChangedMeanwhile if another write came after the place was read. Another try may repair the
	// rest.
	Overtaken bool `json:"-"`
}

// Result is the result of a repair.
type Result string

// The results.
const (
	Repaired         Result = "repaired" // the place is written; with Options.DryRun it would be written
	AlreadyEqual     Result = "equal"    // the place does not differ any more
	ChangedMeanwhile Result = "moved"    // the stored entry was changed since it was found
	Refused          Result = "refused"  // the place cannot be repaired; Reason has the reason
)

// Options configure Open.
type Options struct {
	Sinks []string // names of the sinks. Default: all sinks that keep state
	// CommandFlags has the flags for the configuration file and the stores, such as "-c tablewake.yaml --live".
	// Finding.Command contains them.
	CommandFlags string
	// AllowUnfilled means that Open also opens sinks that wait for their backfill or are being filled. Default: Open
	// returns an error for these sinks.
	AllowUnfilled    bool
	DryRun           bool // Repair writes nothing, and returns the write that it would make
	GroupConcurrency int  // groups that RepairGroups repairs concurrently. Default: 16

	Extensions []sinks.Extension // the program's Go code; an audit runs its filters. Default: no code
}
