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

// writeReason is the reason why a lease is written. It decides whether the write is tried again, and what follows.
type writeReason uint8

const (
	takeLease      writeReason = iota // this consumer becomes the owner
	confirmLease                      // this consumer checks that it is still the owner after its heartbeats stopped
	requestLease                      // this consumer requests the lease from its owner
	declineRequest                    // this consumer is the owner and removes the request of another consumer
	releaseLease                      // this consumer hands the lease over
	updateLoad                        // the shard became idle
	saveCheckpoint
	saveFirst   // the first record of the shard was found
	saveEnd     // the shard was read to its end
	nameStream  // another application created the lease, and named no stream
	removeLease // the lease is no longer needed
)

// leaseWrite is a write of a lease that exists.
//
// If the result of a write is lost, it is unknown whether the write happened. If mustRetry returns true, the write is
// sent again until its result is known. A conflict with a row that already has the new content means that an earlier
// try has succeeded.
type leaseWrite struct {
	reason     writeReason
	row        *row
	assignment *assignment   // for saveCheckpoint, saveFirst and saveEnd; else nil
	page       *receivedPage // for saveFirst: the page that waits for the write
	done       func(error)   // for nameStream: receives nil if the write happened
	old, next  leases.Lease
	tries      tries
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
	handle := func(e WriteResult) { op.handleResult(c, e.Err) }
	if op.reason == removeLease {
		c.emit(DeleteLease{newCall(c, handle), op.old})
	} else {
		c.emit(SwapLease{newCall(c, handle), op.old, op.next})
	}
}

// mustRetry reports whether the write must be sent again until its result is known.
func (op *leaseWrite) mustRetry(c *Coordinator) bool {
	switch op.reason {
	case releaseLease:
		return c.isKnown(op.row) && c.heartbeatFresh()
	case saveCheckpoint, saveEnd:
		return op.assignment.isOpen()
	case saveFirst:
		return op.assignment.keepsLease()
	}
	return false
}

// handleResult continues after a write. If its result is unknown, it may be sent again.
func (op *leaseWrite) handleResult(c *Coordinator, err error) {
	c.writeEnded()
	conflict, refused := leases.AsConflict(err)
	alreadyWritten := refused && op.reason != removeLease && conflict.AlreadyWritten(op.next)
	switch {
	case err == nil || alreadyWritten:
		op.succeeded(c)
		op.finish(c, nil)
	case !refused && op.mustRetry(c):
		c.tableOutage.err = err
		shard := op.next.Shard
		c.logOnce("swap "+shard, slog.LevelWarn, "a lease cannot be written and is tried again", shardAttr(shard),
			errAttr(err))
		c.after(op.tries.nextBackoff(c, maxWriteBackoff, err), func() {
			if op.mustRetry(c) {
				c.sendWrite(op)
			} else {
				op.finish(c, err)
			}
		})
	default:
		op.finish(c, err)
	}
}

// succeeded updates the row to the written lease.
func (op *leaseWrite) succeeded(c *Coordinator) {
	r := op.row
	if op.tries > 0 {
		delete(c.logged, "swap "+r.Shard)
	}
	if op.reason != removeLease {
		c.table.rows.change(r, op.next)
		r.unchangedSince, r.knownAt, r.confirmedAt = c.now, c.now, c.now
	}
}

// finish ends a leaseWrite. err is nil if the write happened, a *leases.Conflict if it was refused, and another error
// if its result is unknown.
func (op *leaseWrite) finish(c *Coordinator, err error) {
	r, a := op.row, op.assignment
	c.table.rows.writeEnded(r, c.now)
	c.writes.lastEnded = c.now
	c.handleConflict(r, err)
	if err == nil {
		op.afterSuccess(c)
	}
	switch op.reason {
	case takeLease:
		c.writes.taking--
		c.takeNext()
	case saveCheckpoint:
		a.acked.savedAt = c.now
	case nameStream:
		op.done(err)
	}
	switch {
	case r.assignment != nil:
		c.save(r.assignment)
	case !c.isRunning():
		c.releaseIfUnassigned(r)
	}
}

// afterSuccess continues after a write that happened.
func (op *leaseWrite) afterSuccess(c *Coordinator) {
	r, checkpoint := op.row, slog.String("checkpoint", op.next.Checkpoint.String())
	switch op.reason {
	case takeLease:
		c.log(slog.LevelInfo, "took a lease", shardAttr(r.Shard), checkpoint)
		c.tryOpen(r)
	case confirmLease:
		c.tryOpen(r) // if the write failed, the next refresh tries again
	case releaseLease:
		c.log(slog.LevelInfo, "released a lease", shardAttr(r.Shard), slog.String("to", op.next.RequestedBy), checkpoint)
	case saveCheckpoint:
		op.assignment.acked.unsavedSince = 0
	case saveFirst:
		c.resumePage(op.assignment, op.page)
	case saveEnd:
		c.endSaved(r, op.assignment)
	case removeLease:
		if c.isKnown(r) {
			c.removeRow(r)
		}
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
