package leases

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Lease is the right to read a shard, and how far it was read.
//
// Beside what Amazon's KCL keeps of a lease it has fields of our own, marked so.
// They are zero in rows that another application made.
//
// Tags are those of a file's rows, which begin with shard and checkpoint.
type Lease struct {
	Shard      string     `json:"-"` // shard id
	Checkpoint Checkpoint `json:"-"`

	// Owner is the worker that reads it; "": nobody. Counter rises with every change of Owner and Checkpoint: what a
	// Swap is conditional on, with Owner.
	Owner   string `json:"owner,omitempty"`
	Counter int64  `json:"counter"`

	// Stream is the ARN of its stream; own. "" where the row does not say: the stream's listing does.
	Stream string `json:"stream,omitempty"`

	// Parents and Children are shard ids: sets, sorted as they are read. Children is set when the checkpoint says
	// ShardEnd.
	Parents  []string `json:"parents,omitempty"`
	Children []string `json:"children,omitempty"`

	// Switches are changes of owner since the last checkpoint: kept by the Table, not looked at in a Swap.
	Switches int64 `json:"switches,omitempty"`

	// First is the sequence number at which the shard starts, as it was listed; own. Records created before From are
	// passed over, while the checkpoint is Latest or AtTime; own. Time is the creation time of the record at the
	// checkpoint, to the second: written with it, and changed only so; own.
	First string    `json:"first,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Time  time.Time `json:"time,omitzero"`

	RequestedBy string `json:"wanted,omitempty"` // consumer that asks the owner for the lease; own, stored as "wanted"
	Pinned      string `json:"pinned,omitempty"` // name of the workers that should read it, whatever the balance; own

	// Stopped is why the shard is read no further than its checkpoint; written with the checkpoint, and gone with
	// it; own.
	Stopped string  `json:"stopped,omitempty"`
	Load    float64 `json:"load,omitempty"` // bytes a second read of late, by the owner's last checkpoint

	// Opaque is what a Table keeps of a row for its own use, such as the row's key
	// where that is not the shard id. It is handed back unchanged.
	Opaque string `json:"opaque,omitempty"`
}

// Clone is a lease that shares nothing with l.
func (l Lease) Clone() Lease {
	l.Parents, l.Children = slices.Clone(l.Parents), slices.Clone(l.Children)
	return l
}

// Equal tells whether l and m are the same, times to the second, Parents and Children as sets.
func (l Lease) Equal(m Lease) bool {
	l, m = l.stored(), m.stored()
	parents := slices.Equal(l.Parents, m.Parents)
	children := slices.Equal(l.Children, m.Children)
	from, at := l.From.Equal(m.From), l.Time.Equal(m.Time)
	return parents && children && from && at &&
		l.Shard == m.Shard && l.Stream == m.Stream && l.Owner == m.Owner && l.Counter == m.Counter &&
		l.Checkpoint == m.Checkpoint && l.Switches == m.Switches && l.First == m.First &&
		l.RequestedBy == m.RequestedBy && l.Pinned == m.Pinned && l.Stopped == m.Stopped && l.Load == m.Load && l.Opaque == m.Opaque
}

// stored is l as a table keeps it.
func (l Lease) stored() Lease {
	l.Parents, l.Children = set(l.Parents), set(l.Children)
	l.From, l.Time = second(l.From), second(l.Time)
	l.Load = finite(l.Load)
	return l
}

// finite is f, or 0 where it is none of the numbers that every store can hold.
func finite(f float64) float64 {
	if a := math.Abs(f); a > 1e-90 && a < 1e90 {
		return f
	}
	return 0
}

// set is a sorted copy without what comes twice; nil where it is empty.
func set(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

func second(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// Ended tells whether the shard was read to its end, and all of it is durable.
func (l Lease) Ended() bool { return l.Checkpoint.Kind == ShardEnd }

// Kind says what a checkpoint is.
type Kind uint8

// The kinds of checkpoints.
const (
	TrimHorizon Kind = iota // nothing is read: from the oldest record
	Latest                  // nothing is read: from the newest record, or from Lease.From where that is set
	AtTime                  // nothing is read: from the oldest record, passing over those before Lease.From
	Sequence                // read up to Checkpoint.Sequence
	ShardEnd                // read to the end
)

// Checkpoint is how far a shard was read, durable in every sink.
type Checkpoint struct {
	Kind     Kind
	Sequence string // sequence number of the last record, of Sequence
	Sub      int64  // subsequence number, as KCL has it; 0 here always
}

// After is the checkpoint behind a record.
func After(sequence string) Checkpoint { return Checkpoint{Kind: Sequence, Sequence: sequence} }

// String is the checkpoint as KCL writes it: TRIM_HORIZON, LATEST, AT_TIMESTAMP,
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

// ParseCheckpoint undoes [Checkpoint.String].
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
