package coordinator

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leaseCreation creates a missing lease. The write is repeated until the lease exists, or until isWanted returns false.
type leaseCreation struct {
	lease  leases.Lease
	parent *assignment // assignment of the parent, if the end of the parent creates the lease; else nil
	done   func(error) // receives nil if the lease exists now
	tries  tries
}

var (
	errNotWanted = errs.New("the lease is not wanted any more")
	errBeingMade = pipeline.Transient(errs.New("the lease is being made"))
)

// createLease begins to create a lease, unless it exists.
func (c *Coordinator) createLease(op *leaseCreation) {
	switch shard := op.lease.Shard; {
	case c.table.rows.get(shard) != nil:
		op.done(nil)
	case c.writes.creating[shard]:
		op.done(errBeingMade)
	default:
		c.writes.creating[shard] = true
		c.sendWrite(op)
	}
}

// isWanted reports whether the lease may still be created.
func (op *leaseCreation) isWanted(c *Coordinator) bool {
	if op.parent != nil {
		return op.parent.keepsLease()
	}
	return c.isRunning() && c.heartbeatFresh()
}

// send emits the action, unless the lease is no longer wanted.
func (op *leaseCreation) send(c *Coordinator) {
	if !op.isWanted(c) {
		c.writeEnded()
		op.end(c, errNotWanted)
		return
	}
	c.emit(CreateLease{newCall(c, func(e WriteResult) { op.handleResult(c, e.Err) }), op.lease})
}

// handleResult continues after the creation, or tries it again.
func (op *leaseCreation) handleResult(c *Coordinator, err error) {
	c.writeEnded()
	shard := op.lease.Shard
	conflict, refused := leases.AsConflict(err)
	switch {
	case err == nil:
		wasKnown := c.table.rows.get(shard) != nil
		r := c.ensureRow(op.lease)
		if !wasKnown && op.lease.Checkpoint.Kind == leases.Latest {
			r.mayStartAtLatest = true
			c.after(5*time.Second, func() { r.mayStartAtLatest = false })
		}
		op.endExisting(c, r)
	case refused && !conflict.Missing:
		op.endExisting(c, c.ensureRow(conflict.Current))
	case op.isWanted(c):
		c.tableOutage.err = err
		c.logOnce("create "+shard, slog.LevelWarn, "a lease cannot be created and is tried again", shardAttr(shard),
			errAttr(err))
		c.after(op.tries.nextBackoff(c, maxWriteBackoff, err), func() { c.sendWrite(op) })
	default:
		op.end(c, err)
	}
}

// ensureRow returns the row of a lease that exists. It adds the row if the lease was not known.
func (c *Coordinator) ensureRow(existing leases.Lease) *row {
	r := c.table.rows.get(existing.Shard)
	if r == nil {
		r = c.addRow(existing)
		r.writtenAt, r.seenAt, r.confirmedAt = c.now, c.now, c.now
	}
	return r
}

// endExisting ends the creation of a lease that exists now, and opens the lease if this consumer owns it.
func (op *leaseCreation) endExisting(c *Coordinator, r *row) {
	op.end(c, nil)
	c.tryOpen(r)
	if !c.isRunning() {
		c.releaseIfUnassigned(r)
	}
}

// end ends the creation. err is nil if the lease exists.
func (op *leaseCreation) end(c *Coordinator, err error) {
	delete(c.writes.creating, op.lease.Shard)
	delete(c.logged, "create "+op.lease.Shard) // the failure of another creation is logged again
	c.writes.lastEnded = c.now
	op.done(err)
}

// collectErrors returns a function that must be called n times, once at the end of each of n writes. The last call
// calls done with the first error that is not nil. If n is 0, done is called at once.
func collectErrors(n int, done func(error)) (ended func(error)) {
	if n == 0 {
		done(nil)
	}
	var firstErr error
	return func(err error) {
		firstErr = cmp.Or(firstErr, err)
		n--
		if n == 0 {
			done(firstErr)
		}
	}
}
