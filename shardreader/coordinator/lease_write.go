package coordinator

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	maxWrites       = 64              // maximum number of writes in flight
	maxWriteBackoff = 2 * time.Second // longest backoff of a write
)

// leaseWrite is a write of a lease that exists.
//
// If the result of a write is lost, it is unknown whether the write happened. While mustRetry returns true, the write
// is sent again until its result is known. A conflict with a row that already has the new content means that an earlier
// try has succeeded.
type leaseWrite struct {
	row       *row
	next      leases.Lease // new content; ignored if removes is true
	removes   bool         // the lease is removed
	mustRetry func() bool  // nil: the write is never sent again

	written func() // called if the write happened; nil: nothing to do
	// ended is called after the write, and after written; nil: nothing to do. err is nil if the write happened, a
	// *leases.Conflict if it was refused, and another error if its result is unknown
	ended func(err error)

	old   leases.Lease
	tries tries
}

// leaseWrites has the writes of leases that are in flight, and the writes that wait.
type leaseWrites struct {
	toTake    []*row          // leases to take
	taking    int             // writes that take a lease and have not ended
	inFlight  int             // at most maxWrites
	queued    []sendable      // writes that wait because maxWrites are in flight
	creating  map[string]bool // leases that are being created, by shard
	lastEnded time.Duration   // when the last write ended, with or without success
}

// sendable is a *leaseWrite or a *leaseCreation.
type sendable interface{ send(c *Coordinator) }

// writeLease begins to change a lease, or to remove it.
func (c *Coordinator) writeLease(op *leaseWrite) {
	c.table.rows.writeBegan(op.row)
	op.old = op.row.Lease
	c.sendWrite(op)
}

// sendWrite sends a write, or queues it if maxWrites are in flight.
func (c *Coordinator) sendWrite(op sendable) {
	if c.writes.inFlight == maxWrites {
		c.writes.queued = append(c.writes.queued, op)
		return
	}
	c.writes.inFlight++
	op.send(c)
}

// writeEnded is called when a write that sendWrite sent has ended. It sends the next queued write.
func (c *Coordinator) writeEnded() {
	c.writes.inFlight--
	if len(c.writes.queued) == 0 {
		return
	}
	next := c.writes.queued[0]
	c.writes.queued = withoutFirst(c.writes.queued, 1)
	c.sendWrite(next)
}

// send emits the action of a write.
func (op *leaseWrite) send(c *Coordinator) {
	call := newCall(c, func(e WriteResult) { op.handleResult(c, e.Err) })
	if op.removes {
		c.emit(DeleteLease{call, op.old})
	} else {
		c.emit(SwapLease{call, op.old, op.next})
	}
}

// handleResult continues after a write. If its result is unknown, it may be sent again.
func (op *leaseWrite) handleResult(c *Coordinator, err error) {
	c.writeEnded()
	conflict, refused := leases.AsConflict(err)
	alreadyWritten := refused && !op.removes && conflict.AlreadyWritten(op.next)
	switch {
	case err == nil || alreadyWritten:
		op.updateRow(c)
		op.end(c, nil)
	case !refused && op.retries():
		op.retryLater(c, err)
	default:
		op.end(c, err)
	}
}

// retryLater sends a write again after a backoff, unless mustRetry returns false by then.
func (op *leaseWrite) retryLater(c *Coordinator, err error) {
	c.tableOutage.err = err
	shard := op.next.Shard
	c.logOnce("write "+shard, slog.LevelWarn, "a lease cannot be written and is tried again", shardAttr(shard),
		errAttr(err))
	c.after(op.tries.nextBackoff(c, maxWriteBackoff, err), func() {
		if op.retries() {
			c.sendWrite(op)
		} else {
			op.end(c, err)
		}
	})
}

// retries reports whether the write is sent again if its result is unknown.
func (op *leaseWrite) retries() bool { return op.mustRetry != nil && op.mustRetry() }

// updateRow updates the row after a write that happened.
func (op *leaseWrite) updateRow(c *Coordinator) {
	r := op.row
	if op.tries > 0 {
		delete(c.logged, "write "+r.Shard)
	}
	if !op.removes {
		c.table.rows.change(r, op.next)
		r.unchangedSince, r.seenAt, r.confirmedAt = c.now, c.now, c.now
	}
}

// end ends a leaseWrite. err is as in leaseWrite.ended.
func (op *leaseWrite) end(c *Coordinator, err error) {
	r := op.row
	c.table.rows.writeEnded(r, c.now)
	c.writes.lastEnded = c.now
	c.handleConflict(r, err)
	if err == nil && op.written != nil {
		op.written()
	}
	if op.ended != nil {
		op.ended(err)
	}
	switch {
	case r.assignment != nil:
		c.save(r.assignment)
	case !c.isRunning():
		c.releaseIfUnassigned(r)
	}
}

// handleConflict updates a row if err is a conflict: another consumer has changed or removed the lease.
func (c *Coordinator) handleConflict(r *row, err error) {
	conflict, refused := leases.AsConflict(err)
	if !refused || !c.isKnown(r) {
		return
	}
	if conflict.Missing {
		c.removeRow(r)
		return
	}
	c.updateRow(r, conflict.Current, c.now)
	if r.assignment != nil {
		c.loseLease(r.assignment)
	}
}
