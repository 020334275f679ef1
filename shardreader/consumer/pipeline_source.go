package consumer

import (
	"context"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// Read implements [pipeline.Source]. It returns io.EOF once the consumer is leaving. It returns another error once the
// consumer cannot continue, for example without credentials or a lease table.
func (c *Consumer) Read(ctx context.Context) (*pipeline.Page, error) {
	c.startOnce.Do(func() { c.startReading(ctx) })
	for {
		page, err := c.nextPage(ctx)
		if page != nil || err != nil {
			return page, err
		}
		select {
		case <-c.wakeRead:
		case <-ctx.Done():
		}
	}
}

// startReading starts the consumer. The consumer leaves once ctx ends, even if the pipeline is full and does not call
// Read.
func (c *Consumer) startReading(ctx context.Context) {
	context.AfterFunc(ctx, c.leave)
	c.sendEvent(coordinator.Tick{})
	c.goroutines.Go(c.loop)
}

// nextPage takes the oldest page that is not paused from the queue, and returns it; nil if there is none. It reports
// the taken page to the coordinator at once, so that the coordinator never drops a page that the pipeline has.
func (c *Consumer) nextPage(ctx context.Context) (*pipeline.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.forgets) > 0 {
		// The pipeline now has all pages of these partitions, so it can forget them.
		c.actions = append(c.actions, c.forgets...)
		c.forgets = nil
		signal(c.wakeLoop)
	}
	switch {
	case c.fatal != nil:
		return nil, c.fatal
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.leaving:
		return nil, io.EOF
	}
	page := c.queue.pop()
	if page == nil {
		return nil, nil
	}
	c.step(coordinator.PageTaken{Partition: page.Partition})
	if len(c.actions) > 0 {
		signal(c.wakeLoop)
	}
	return page, nil
}

// leave begins a soft stop. It can be called at any time, and repeatedly.
func (c *Consumer) leave() {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	c.sendEvent(coordinator.Shutdown{})
	signal(c.wakeRead)
}

// fail ends reading with an error. It also notifies the pipeline, which does not call Read while its memory is full.
func (c *Consumer) fail(err error) {
	c.mu.Lock()
	isReading := c.fatal == nil && !c.leaving
	if isReading {
		c.fatal = err
	}
	control := c.control
	c.mu.Unlock()
	c.leave()
	if isReading && control != nil {
		control.Fail(err)
	}
}

// Commit implements [pipeline.Committer]. It returns at once: the coordinator writes the position to the lease
// table within its Checkpoint interval.
func (c *Consumer) Commit(_ context.Context, partition string, p pipeline.Position) error {
	c.sendEvent(coordinator.Acked{Partition: partition, Position: p})
	return nil
}

// Pause implements [pipeline.Pauser]. Read returns no page of a paused partition, and the coordinator requests no page
// of it.
func (c *Consumer) Pause(partition string, paused bool) {
	c.mu.Lock()
	c.queue.setPaused(partition, paused)
	c.mu.Unlock()
	if !paused {
		signal(c.wakeRead)
	}
	c.sendEvent(coordinator.Paused{Partition: partition, Paused: paused})
}

// Control implements [pipeline.Controlled]. A nil control ends the run: nothing more is acknowledged, and the
// consumer releases its leases.
func (c *Consumer) Control(control pipeline.Control) {
	c.mu.Lock()
	c.control = control
	c.mu.Unlock()
	if control == nil {
		c.leave()
		c.sendEvent(coordinator.PipelineEnded{})
	}
}
