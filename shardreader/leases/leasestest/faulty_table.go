package leasestest

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Call describes a call of a [Table].
type Call struct {
	Op       string // name of the method of [leases.Table]
	Shard    string // for Create, Swap and Delete
	Consumer string // consumer id for Heartbeat and RemoveMember; otherwise Owner of the lease that is passed
}

// Table is a lease table in memory whose calls may fail. Its hooks run during a call. They may sleep or call the
// table's Memory. Set the hooks before the first call. Table starts no goroutines.
type Table struct {
	*leases.Memory

	// Before runs before a call. If it returns an error, for example [Throttled], the call is not executed and returns
	// the error. If Before changes the lease in Memory, the call may return a conflict.
	Before func(ctx context.Context, c Call) error

	// After runs after a successful call. If it returns an error, for example [Lost], the call returns the error.
	After func(ctx context.Context, c Call) error
}

var _ leases.Table = (*Table)(nil)

// NewTable returns an empty table without hooks.
func NewTable() *Table { return &Table{Memory: leases.NewMemory(leases.Snapshot{})} }

// Throttled returns the error of a table over its throughput.
func Throttled() error { return pipeline.Transient(errors.New("leasestest: throttled")) }

// Lost returns the error of a call whose answer was lost.
func Lost() error { return pipeline.Transient(errors.New("leasestest: the answer was lost")) }

// Read implements [leases.Table].
func (t *Table) Read(ctx context.Context) (s leases.Snapshot, err error) {
	err = t.do(ctx, Call{Op: "Read"}, func() error {
		s, err = t.Memory.Read(ctx)
		return err
	})
	if err != nil {
		return leases.Snapshot{}, err
	}
	return s, nil
}

// Create implements [leases.Table].
func (t *Table) Create(ctx context.Context, l leases.Lease) error {
	return t.do(ctx, Call{"Create", l.Shard, l.Owner}, func() error { return t.Memory.Create(ctx, l) })
}

// Swap implements [leases.Table].
func (t *Table) Swap(ctx context.Context, old, next leases.Lease) error {
	return t.do(ctx, Call{"Swap", old.Shard, old.Owner}, func() error { return t.Memory.Swap(ctx, old, next) })
}

// Delete implements [leases.Table].
func (t *Table) Delete(ctx context.Context, old leases.Lease) error {
	return t.do(ctx, Call{"Delete", old.Shard, old.Owner}, func() error { return t.Memory.Delete(ctx, old) })
}

// Heartbeat implements [leases.Table].
func (t *Table) Heartbeat(ctx context.Context, m leases.Member) error {
	return t.do(ctx, Call{Op: "Heartbeat", Consumer: m.ID}, func() error { return t.Memory.Heartbeat(ctx, m) })
}

// RemoveMember implements [leases.Table].
func (t *Table) RemoveMember(ctx context.Context, consumer string) error {
	return t.do(ctx, Call{Op: "RemoveMember", Consumer: consumer}, func() error { return t.Memory.RemoveMember(ctx, consumer) })
}

// MarkBegun implements [leases.Table].
func (t *Table) MarkBegun(ctx context.Context, stream string) error {
	return t.do(ctx, Call{Op: "MarkBegun"}, func() error { return t.Memory.MarkBegun(ctx, stream) })
}

// ReserveCall implements [leases.Table].
func (t *Table) ReserveCall(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	err = t.do(ctx, Call{Op: "ReserveCall"}, func() error {
		count, ok, err = t.Memory.ReserveCall(ctx, quota, seen)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return count, ok, nil
}

func (t *Table) do(ctx context.Context, c Call, f func() error) error {
	if t.Before != nil {
		if err := t.Before(ctx, c); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	if t.After != nil {
		return t.After(ctx, c)
	}
	return nil
}
