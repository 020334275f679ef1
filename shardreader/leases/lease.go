package leases

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Lease is the right to read a shard, with the position up to which the shard was read.
//
// Fields marked "own" are not part of Amazon's KCL. They are zero in rows that another application wrote. The tags
// define the JSON of leases/file, which writes Shard and Checkpoint itself.
type Lease struct {
	Shard      string     `json:"-"` // shard id
	Checkpoint Checkpoint `json:"-"`

	// Owner is the id of the consumer that reads the shard; "" if the lease is free. Counter rises with every change of
	// Owner or Checkpoint. A Swap is conditional on Owner and Counter.
	Owner   string `json:"owner,omitempty"`
	Counter int64  `json:"counter"`

	// Stream is the ARN of the stream; own. If it is "", the stream is the one that lists the shard.
	Stream string `json:"stream,omitempty"`

	// Parents and Children are sets of shard ids. A Read returns them sorted. Children is set together with the
	// checkpoint ShardEnd.
	Parents  []string `json:"parents,omitempty"`
	Children []string `json:"children,omitempty"`

	// Switches is the number of changes of the owner since the last checkpoint. The Table counts them; a Swap ignores
	// the field.
	Switches int64 `json:"switches,omitempty"`

	// First is the sequence number from which on the shard is read; own. It comes from the listing of the stream, from
	// the first record found, or from the start that is configured.
	First string `json:"first,omitempty"`
	// From is the time at which reading starts, for the checkpoints Latest and AtTime; own. Records created before From
	// are skipped.
	From time.Time `json:"from,omitzero"`
	// Time is the creation time of the record at the checkpoint, to the second; own. It changes only together with the
	// checkpoint.
	Time time.Time `json:"time,omitzero"`

	// RequestedBy is the id of the consumer that requests the lease from its owner; own, stored as "wanted"
	RequestedBy string `json:"wanted,omitempty"`
	// Pinned is the Member.Name of the consumer that should read the shard, even if it has more leases than others; own
	Pinned string `json:"pinned,omitempty"`

	// Stopped is the reason why the shard is not read past its checkpoint; "" if it is read; own. Stopped belongs to
	// the checkpoint: the next checkpoint clears it.
	Stopped string  `json:"stopped,omitempty"`
	Load    float64 `json:"load,omitempty"` // recent bytes per second, written by the owner with its checkpoint

	// Opaque belongs to the Table. It may be the key of the row, if the key is not the shard id. Callers pass it back
	// unchanged.
	Opaque string `json:"opaque,omitempty"`
}

// Clone returns a deep copy of l.
func (l Lease) Clone() Lease {
	l.Parents, l.Children = slices.Clone(l.Parents), slices.Clone(l.Children)
	return l
}

// Equal reports whether l and m are stored as the same row: times to the second, Parents and Children as sets.
func (l Lease) Equal(m Lease) bool { return reflect.DeepEqual(l.storedForm(), m.storedForm()) }

// storedForm returns l with the precision that every table stores.
func (l Lease) storedForm() Lease {
	l.Parents, l.Children = sortedSet(l.Parents), sortedSet(l.Children)
	l.From, l.Time = toSecond(l.From), toSecond(l.Time)
	l.Load = storableNumber(l.Load)
	return l
}

// storableNumber returns f, or 0 if some store cannot store f: NaN, infinities, and numbers outside DynamoDB's range.
func storableNumber(f float64) float64 {
	magnitude := math.Abs(f)
	isStorable := magnitude > 1e-90 && magnitude < 1e90
	if !isStorable {
		return 0
	}
	return f
}

// sortedSet returns a sorted copy of names without duplicates; nil if names is empty.
func sortedSet(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// toSecond returns t in UTC, truncated to the second.
func toSecond(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// Ended reports whether the shard was read to its end, and all of its records are durable.
func (l Lease) Ended() bool { return l.Checkpoint.Kind == ShardEnd }

// Kind is the kind of a checkpoint.
type Kind uint8

// The kinds of checkpoints. The first three are start positions: no record of the shard was read yet.
const (
	TrimHorizon Kind = iota // start at the oldest record
	Latest                  // start at the newest record, or at Lease.From if that is set
	AtTime                  // start at the first record created at Lease.From or later
	Sequence                // read up to and including Checkpoint.Sequence
	ShardEnd                // read to the end
)

// Checkpoint is the position up to which a shard was read. All records up to it are durable in every sink.
type Checkpoint struct {
	Kind     Kind
	Sequence string // sequence number of the last record; set for the kind Sequence only
	Sub      int64  // KCL's subsequence number; this program writes 0
}

// After returns the checkpoint after the record with a sequence number.
func After(sequence string) Checkpoint { return Checkpoint{Kind: Sequence, Sequence: sequence} }

// String returns the checkpoint as KCL writes it: TRIM_HORIZON, LATEST, AT_TIMESTAMP,
// SHARD_END or the sequence number.
func (c Checkpoint) String() string {
	switch c.Kind {
	case Latest:
		return "LATEST"
	case AtTime:
		return "AT_TIMESTAMP"
	case Sequence:
		return c.Sequence
	case ShardEnd:
		return "SHARD_END"
	}
	return "TRIM_HORIZON"
}

// ParseCheckpoint is the inverse of [Checkpoint.String].
func ParseCheckpoint(s string) (Checkpoint, error) {
	for _, k := range []Kind{TrimHorizon, Latest, AtTime, ShardEnd} {
		if c := (Checkpoint{Kind: k}); c.String() == s {
			return c, nil
		}
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return Checkpoint{}, errs.New("a checkpoint is a sequence number, TRIM_HORIZON, LATEST, AT_TIMESTAMP or SHARD_END")
	}
	return After(s), nil
}
