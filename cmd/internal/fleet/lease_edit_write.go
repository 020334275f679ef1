package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// planCreation plans the lease of a shard that has none.
func planCreation(
	ctx context.Context, shared *sharedStores, shard string, snapshot leases.Snapshot, plan leasePlan,
) (leaseEdit, error) {
	api, err := shared.openStreams()
	if err != nil {
		return leaseEdit{}, err
	}
	refs, err := sourceStreams(ctx, api, shared.cfg.Source.Tables)
	if err != nil {
		return leaseEdit{}, err
	}
	for _, ref := range slices.Backward(refs) { // most shards belong to the newest stream
		d, err := shardreader.ListShards(ctx, api, ref.ARN)
		if err != nil {
			return leaseEdit{}, err
		}
		i := slices.IndexFunc(d.Shards, func(s shardreader.Shard) bool { return s.ID == shard })
		if i < 0 {
			continue
		}
		first, err := firstLease(ref.ARN, d.Shards[i], d.Shards, snapshot.Leases)
		if err != nil {
			return leaseEdit{}, err
		}
		e, err := plan(first)
		e.Creates = true
		return e, err
	}
	return leaseEdit{}, fmt.Errorf("shard %s has no lease, and no stream lists it", shard)
}

// sourceStreams returns the streams of the source tables, those of a table from the oldest to the newest.
func sourceStreams(
	ctx context.Context, api shardreader.API, tables []config.Table,
) (refs []shardreader.StreamRef, err error) {
	for _, t := range tables {
		found, err := shardreader.FindStreams(ctx, api, cmp.Or(t.StreamARN, t.Name))
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	return refs, nil
}

// applyEdit writes a planned edit. It returns the written edit, which is another one if the lease has changed
// meanwhile.
func applyEdit(ctx context.Context, shared *sharedStores, e leaseEdit, plan leasePlan) (leaseEdit, error) {
	if e.Creates {
		return e, writeEdit(ctx, shared, e, shared.table.Create)
	}
	return swapLease(ctx, shared, e.Old, plan)
}

// leaseWrite creates a lease, or swaps the stored lease for next.
type leaseWrite func(ctx context.Context, next leases.Lease) error

// writeEdit writes the lease of an edit, and stores the gap if the edit skips records. The first write is firstWrite.
func writeEdit(ctx context.Context, shared *sharedStores, e leaseEdit, firstWrite leaseWrite) error {
	switch {
	case e.Skipped == nil:
		return writeLease(ctx, e.Next, firstWrite)
	case !e.Creates:
		return writeSkip(ctx, shared, e, firstWrite)
	}
	if err := shared.noteGap(ctx, *e.Skipped); err != nil { // no consumer reads the shard
		return fmt.Errorf("what is passed over cannot be noted, so no lease is made: %w", err)
	}
	return writeLease(ctx, e.Next, firstWrite)
}

// writeSkip writes an edit of an existing lease that skips records, in three steps. First it takes the lease: then the
// former owner can write no checkpoint, and the gap contains no processed record. Then it stores the gap, and last the
// new position, so no record is skipped without a stored gap. If the process ends in between, consumers take the lease
// like that of a dead owner, and continue from its checkpoint.
func writeSkip(ctx context.Context, shared *sharedStores, e leaseEdit, firstWrite leaseWrite) error {
	taken := e.Old.Clone()
	taken.Owner, taken.RequestedBy = "leases-reset-"+rand.Text(), ""
	taken.Counter++
	if err := writeLease(ctx, taken, firstWrite); err != nil {
		return err
	}
	swap := func(ctx context.Context, next leases.Lease) error { return shared.table.Swap(ctx, taken, next) }
	if err := shared.noteGap(ctx, *e.Skipped); err != nil {
		return errors.Join(fmt.Errorf("what is passed over cannot be noted, so the position is unchanged: %w", err),
			freeLease(ctx, taken, swap))
	}
	return writeLease(ctx, e.Next, swap)
}

// freeTimeout limits the write of [freeLease].
const freeTimeout = 5 * time.Second

// freeLease removes the owner that [writeSkip] wrote. If it fails, consumers take the lease after a while, like that of
// a dead owner.
func freeLease(ctx context.Context, taken leases.Lease, swap leaseWrite) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTimeout)
	defer cancel()
	return writeLease(ctx, ownerRemoval(taken).Next, swap)
}

// writeLease writes a lease with write. If write succeeded but its answer was lost, writeLease returns nil.
func writeLease(ctx context.Context, next leases.Lease, write leaseWrite) error {
	_, err := stream.Retry(ctx, func() (struct{}, error) { return struct{}{}, write(ctx, next) })
	if conflict, isConflict := leases.AsConflict(err); isConflict && conflict.AlreadyWritten(next) {
		return nil
	}
	return err
}

// maxSwapTries is the maximum number of tries of [swapLease]. A try fails if the owner of the lease writes it at the
// same time.
const maxSwapTries = 20

// swapLease plans and writes the change of one lease. If the owner wrote the lease meanwhile, swapLease plans again.
func swapLease(ctx context.Context, shared *sharedStores, l leases.Lease, plan leasePlan) (leaseEdit, error) {
	for range maxSwapTries {
		e, err := plan(l)
		if err != nil || !e.Changes() {
			return e, err
		}
		swap := func(ctx context.Context, next leases.Lease) error { return shared.table.Swap(ctx, l, next) }
		err = writeEdit(ctx, shared, e, swap)
		conflict, isConflict := leases.AsConflict(err)
		if !isConflict {
			return e, err
		}
		if conflict.Missing {
			return e, fmt.Errorf("the lease of shard %s is gone: all of it was read", l.Shard)
		}
		l = conflict.Current
	}
	return leaseEdit{}, fmt.Errorf("the lease of shard %s is changed too often by its owner %s: try again", l.Shard,
		l.Owner)
}
