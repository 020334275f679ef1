package leases

import (
	"context"
	"errors"
)

// Table keeps leases and members. Its methods block until the store answered or
// ctx is done, and may be called by several goroutines. Errors are marked as those
// of a sink are: [pipeline.Retryable] tells the transient ones, [pipeline.IsFatal]
// those that no retry helps. After a transient error the write may have happened or not.
type Table interface {
	// Read is all there is. Each lease and member is as it was at some time
	// between call and answer.
	Read(ctx context.Context) (Snapshot, error)

	// Create adds a lease. Where the shard has one already the error is a *Conflict.
	Create(ctx context.Context, l Lease) error

	// Swap changes a lease from what its writer knows of it. It holds while the row has
	// old's Owner and Counter; else the error is a *Conflict with what is there. The
	// caller sets next.Counter: above old's where owner or checkpoint change. Only what
	// differs between old and next is written, so that other attributes of the
	// row stay, unknown ones too. Shard and Opaque do not change, and Switches
	// is counted by the Table.
	Swap(ctx context.Context, old, next Lease) error

	// Delete removes a lease that has old's Owner and Counter; else the error is a
	// *Conflict. One that is gone already is no error.
	Delete(ctx context.Context, old Lease) error

	// Heartbeat writes a member's own row.
	Heartbeat(ctx context.Context, m Member) error

	// Leave removes a member's row.
	Leave(ctx context.Context, worker string) error

	// Begin notes that the leases that the reading of a stream starts with were made.
	// It is kept for as long as the pipeline is; noting it again changes nothing.
	Begin(ctx context.Context, stream string) error

	// Reserve takes the right to make one call of a quota that all workers share.
	// It raises the quota's count from seen by one and returns it; where the count
	// is not seen it returns the count that it is, and ok is false. Whoever has watched the
	// count stand still for as long as one call may take knows that the quota has
	// room: so calls keep their distance without a common clock.
	Reserve(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error)
}

// Snapshot is what a table holds.
type Snapshot struct {
	Leases  []Lease  // by Shard
	Members []Member // by Worker
	Begun   []string // ARNs of the streams that were begun, by name
	Broken  []Broken // rows that are there and cannot be read, by Shard
}

// Broken is a row that somebody damaged: what it says is not known, but that there is
// a lease of this shard. Nobody may act as if it had none.
type Broken struct {
	Shard string // or the key of the row, where even the shard is not to be read from it
	Why   string // what is wrong with it
}

// Conflict is a write of a lease that did not happen: the row is not as its writer knew it.
type Conflict struct {
	Now  Lease // as the row is
	Gone bool  // there is no row
}

// Error says what is in the way.
func (c *Conflict) Error() string {
	if c.Gone {
		return "the lease is gone"
	}
	if c.Now.Owner == "" {
		return "the lease of shard " + c.Now.Shard + " was changed by another worker"
	}
	return "the lease of shard " + c.Now.Shard + " is owned by " + c.Now.Owner
}

// Redacted is Error: it shows no values.
func (c *Conflict) Redacted() string { return c.Error() }

// Describe is the class of writes that others were before.
func (c *Conflict) Describe() (class, field string) { return "conflict", "" }

// Did tells whether the row is as next made it: the same Swap, or Create, was sent
// before, and its answer was lost.
func (c *Conflict) Did(next Lease) bool {
	return !c.Gone && c.Now.Owner == next.Owner && c.Now.Counter == next.Counter && c.Now.Checkpoint == next.Checkpoint
}

// AsConflict finds the conflict in an error.
func AsConflict(err error) (*Conflict, bool) { return errors.AsType[*Conflict](err) }
