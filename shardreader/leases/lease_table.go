package leases

import (
	"context"
	"errors"
)

// Table stores leases and members. Its methods block until the store answers or ctx is done. They are safe for
// concurrent use, and keep no slice or map of their caller. [pipeline.Retryable] reports whether an error is transient,
// and [pipeline.IsFatal] whether no retry can succeed. After a transient error of a write it is unknown whether the
// write happened.
type Table interface {
	// Read returns all rows. Each row has the content that it had at some time during the call. Different rows may have
	// been read at different times, so the snapshot need not be atomic.
	Read(ctx context.Context) (Snapshot, error)

	// Create adds a lease. If the shard already has a lease, the error is a *Conflict.
	Create(ctx context.Context, l Lease) error

	// Swap changes a lease from old, which the caller has read, to next. If the row does not have old's Owner and
	// Counter, the error is a *Conflict with the present row. The caller sets next.Counter, which must be above old's
	// if the owner or the checkpoint changes. Swap writes only the differences between old and next. All other
	// attributes of the row stay, also attributes that this program does not know. Shard and Opaque do not change. The
	// Table counts Switches.
	Swap(ctx context.Context, old, next Lease) error

	// Delete removes a lease. If the row does not have old's Owner and Counter, the error is a *Conflict. A missing row
	// is not an error.
	Delete(ctx context.Context, old Lease) error

	// Heartbeat writes the row of a consumer. It replaces the row of the consumer's last heartbeat.
	Heartbeat(ctx context.Context, m Member) error

	// RemoveMember removes the row of a consumer. A missing row is not an error.
	RemoveMember(ctx context.Context, consumer string) error

	// MarkBegun marks a stream as begun: its first leases were created. So later shards of the stream are never
	// mistaken for its first shards. The mark is never removed, and MarkBegun is idempotent.
	MarkBegun(ctx context.Context, stream string) error

	// ReserveCall takes the right to make one call that counts against a quota. All consumers share the quota. If the
	// quota's count equals seen, ReserveCall raises the count by 1, and returns it with ok true. Otherwise it returns
	// the present count with ok false. A caller reserves only after it has seen the count unchanged for the time that
	// two calls must be apart. This spaces the calls without a common clock.
	ReserveCall(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error)
}

// Snapshot is the content of a table.
type Snapshot struct {
	Leases        []Lease        // sorted by Shard
	Members       []Member       // sorted by ID
	BegunStreams  []string       // ARNs of the streams of all MarkBegun calls, sorted
	DamagedLeases []DamagedLease // rows of leases that cannot be read, sorted by Shard
}

// DamagedLease is a damaged row of a lease. The shard has a lease, but the content of the lease is unknown. So no
// consumer may treat the shard as a shard without a lease.
type DamagedLease struct {
	Shard  string // the shard id, or the key of the row if the shard id is unknown
	Reason string // what is wrong with the row
	// OfStream means that the row says that a stream was begun, and is of no shard
	OfStream bool
}

// Conflict is the error of a write whose condition failed: another writer has changed the lease.
type Conflict struct {
	Current Lease // the present row
	Missing bool  // there is no row
}

// Error names the shard and its owner.
func (c *Conflict) Error() string {
	if c.Missing {
		return "the lease is gone"
	}
	if c.Current.Owner == "" {
		return "the lease of shard " + c.Current.Shard + " was changed by another worker"
	}
	return "the lease of shard " + c.Current.Shard + " is owned by " + c.Current.Owner
}

// Redacted returns Error, which contains no data of items.
func (c *Conflict) Redacted() string { return c.Error() }

// Describe returns the class "conflict".
func (c *Conflict) Describe() (class, field string) { return "conflict", "" }

// AlreadyWritten reports whether the present row has the owner, counter and checkpoint of next. If it does, an earlier
// attempt of the same Swap or Create has succeeded, and only its answer was lost.
func (c *Conflict) AlreadyWritten(next Lease) bool {
	return !c.Missing && c.Current.Owner == next.Owner && c.Current.Counter == next.Counter &&
		c.Current.Checkpoint == next.Checkpoint
}

// AsConflict returns the conflict in the chain of err, and false if there is none.
func AsConflict(err error) (*Conflict, bool) { return errors.AsType[*Conflict](err) }
