package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// errClosed is the cause of cancelled calls once the consumer is closed.
var errClosed = errs.New("the consumer is closed")

const (
	// goroutineGrace is how long Close waits for calls that ignore their cancelled contexts.
	goroutineGrace = 500 * time.Millisecond

	// maxHardStop is how long a hard stop may take to release leases. It is short, because the caller has waited
	// for the soft stop already.
	maxHardStop = 1500 * time.Millisecond
)

// Close stops the consumer, and returns when its goroutines have ended.
//
// A consumer that still reads stops softly first: the pipeline finishes its pages, and the leases are released. If ctx
// ends before that, the stop becomes hard: the partitions are revoked, and the leases are released at their durable
// checkpoints. A hard stop takes at most two seconds, and at most a third of the lease time. The error reports leases
// that may not be released, and calls that have not ended. Close is safe for repeated and concurrent calls.
func (c *Consumer) Close(ctx context.Context) error {
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return c.closeErr
	}
	c.closed = true
	c.leave()
	c.startOnce.Do(c.stop) // if the loop never started, it cannot start any more
	err := c.waitStopped(ctx)
	c.cancel(errClosed)
	if !c.waitGoroutines() {
		err = errors.Join(err, errs.Errorf("some calls have not ended %v after they were cancelled", goroutineGrace))
	}
	if err != nil {
		c.closeErr = fmt.Errorf("consumer: %w", err)
	}
	return errors.Join(c.closeErr, c.tel.registration.Unregister())
}

// waitStopped waits until the coordinator has released everything. If ctx ends first, the stop becomes hard.
func (c *Consumer) waitStopped(ctx context.Context) error {
	select {
	case <-c.stopped.Done():
	case <-ctx.Done():
	}
	if c.stopped.Err() != nil {
		return nil
	}
	c.sendEvent(coordinator.PipelineEnded{})
	t := time.NewTimer(min(c.options.Coordinator.Lease/3, maxHardStop))
	defer t.Stop()
	select {
	case <-c.stopped.Done():
		return fmt.Errorf("stopped hard: %w", context.Cause(ctx))
	case <-t.C:
	}
	return fmt.Errorf("stopped hard, and some leases may not be released: other consumers take them after %v: %w",
		c.options.Coordinator.Lease, context.Cause(ctx))
}

// waitGoroutines waits for the goroutines of the loop and the calls. It returns false if some do not end within
// goroutineGrace.
func (c *Consumer) waitGoroutines() bool {
	ended := make(chan struct{})
	go func() {
		c.goroutines.Wait()
		close(ended)
	}()
	t := time.NewTimer(goroutineGrace)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}
