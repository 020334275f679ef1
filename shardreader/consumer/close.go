package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// errClosed is the cause with which calls end when the consumer is closed.
var errClosed = errs.New("the consumer is closed")

const (
	// deaf is how long Close waits for calls that do not heed their contexts.
	goroutineGrace = 500 * time.Millisecond

	// hardest is how long a hard stop takes at most to let leases go: whoever stops it hard
	// has waited already.
	maxHardStop = 1500 * time.Millisecond
)

// Close ends what Read began, and returns when nothing of it is under way. A
// consumer that still reads leaves: what it read is drained and its leases are let go. When ctx
// is done before that, it stops hard: what the pipeline has is taken from it, and leases are let go at
// what is durable, as far as that works within a third of a lease, and within two seconds. The
// error says what was left for others to find out. Close may be called more than once, and by several goroutines.
func (c *Consumer) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return c.closeErr
	}
	c.closed = true
	c.leave()
	c.startOnce.Do(c.markStopped) // nothing was begun, and nothing will be
	err := c.waitStopped(ctx)
	c.cancel(errClosed)
	if !c.waitGoroutines() {
		err = errors.Join(err, errs.Errorf("calls do not end that were told to %v ago", goroutineGrace))
	}
	if err != nil {
		c.closeErr = fmt.Errorf("consumer: %w", err)
	}
	return errors.Join(c.closeErr, c.tel.close())
}

// wait waits until the worker has let everything go.
func (c *Consumer) waitStopped(ctx context.Context) error {
	select {
	case <-c.stopped:
		return nil
	default:
	}
	select {
	case <-c.stopped:
		return nil
	case <-ctx.Done():
	}
	c.sendEvent(coordinator.PipelineEnded{})
	t := time.NewTimer(min(c.o.Coordinator.Lease/3, maxHardStop))
	defer t.Stop()
	select {
	case <-c.stopped:
		return fmt.Errorf("stopped hard: %w", context.Cause(ctx))
	case <-t.C:
	}
	return fmt.Errorf("stopped hard, and leases may be left that others take over in %v: %w", c.o.Coordinator.Lease, context.Cause(ctx))
}

// ended waits for the loop and the calls; false where some do not end.
func (c *Consumer) waitGoroutines() bool {
	all := make(chan struct{})
	go func() {
		c.goroutines.Wait()
		close(all)
	}()
	t := time.NewTimer(goroutineGrace)
	defer t.Stop()
	select {
	case <-all:
		return true
	case <-t.C:
		return false
	}
}
