package consumer

import (
	"errors"

	"github.com/tablewake/tablewake/shardreader/worker"
)

// revoked are partitions that are taken away for one cause.
type revoked struct {
	cause      error
	partitions []string
}

// perform does what the worker wants done. The pipeline is asked for many partitions at a
// time, and first of all to give up what is revoked: nothing is let go in the lease
// table that it may still write. No lock is held.
func (c *Consumer) perform(out []worker.Action) {
	var revokes []revoked
	var drain, forget []string
	for _, a := range out {
		switch a := a.(type) {
		case worker.Revoke:
			if n := len(revokes); n == 0 || !errors.Is(a.Cause, revokes[n-1].cause) {
				revokes = append(revokes, revoked{cause: a.Cause})
			}
			last := &revokes[len(revokes)-1]
			last.partitions = append(last.partitions, a.Partition)
		case worker.Drain:
			drain = append(drain, a.Partition)
		case worker.Forget:
			forget = append(forget, a.Partition)
		}
	}
	c.mu.Lock()
	control := c.control
	c.mu.Unlock()
	if control != nil {
		for _, r := range revokes {
			control.Revoke(r.cause, r.partitions...)
		}
		if len(drain) > 0 {
			control.Drain(drain...)
		}
		if len(forget) > 0 {
			control.Forget(forget...)
		}
	}
	for _, a := range out {
		switch a := a.(type) {
		case worker.Revoke, worker.Drain, worker.Forget:
		case worker.Tell:
			c.log.LogAttrs(c.ctx, a.Level, a.Message, a.Attrs...)
		case worker.AtEnd:
			c.mu.Lock()
			c.atEnd = &a
			c.mu.Unlock()
		case worker.Stopped:
			c.done()
		default:
			c.call(a)
		}
	}
}
