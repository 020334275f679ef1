package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// Consumer is the source of one run of a pipeline. Use [New].
//
// One goroutine, the loop, gives events of calls, timers and the pipeline to the coordinator. The only exception is
// that Read takes a page from the queue and reports it to the coordinator under one lock, so that the coordinator
// cannot drop the page in between.
//
// No call of the pipeline or of a store is made under a lock, because each of them may block, and the pipeline may call
// the consumer meanwhile.
type Consumer struct {
	options  Options
	log      *slog.Logger
	tel      *telemetry
	started  time.Time
	wakeLoop chan struct{} // wakes the loop; capacity 1
	wakeRead chan struct{} // wakes Read; capacity 1

	ctx        context.Context // context of the calls and the loop
	cancel     context.CancelCauseFunc
	startOnce  sync.Once
	stopped    context.Context // done when the coordinator has released everything
	stop       func()          // ends stopped
	goroutines sync.WaitGroup
	idleCalls  chan func() // hands a call to an idle goroutine of the pool
	closeMu    sync.Mutex
	closed     bool
	closeErr   error // result of Close

	lastStep atomic.Int64 // when the loop last completed a round, in nanoseconds since started

	inMu  sync.Mutex // guards inbox
	inbox []coordinator.Event

	mu          sync.Mutex // guards the fields below; never held together with inMu
	coordinator *coordinator.Coordinator
	queue       queue                // pages that Read has not returned
	actions     []coordinator.Action // actions that the loop must perform

	forgets []coordinator.Action // Forget actions that wait for the next Read: the pipeline then has all earlier pages

	control     pipeline.Control   // nil while there is no run
	leaving     bool               // Read returns no more pages
	fatal       error              // the error that ended reading
	atEnd       *coordinator.AtEnd // the last AtEnd action; nil before the first
	workedCalls map[string]bool    // names of calls that have succeeded at least once
	failures    map[callKey]failureSpan
}

var (
	_ pipeline.Source     = (*Consumer)(nil)
	_ pipeline.Committer  = (*Consumer)(nil)
	_ pipeline.Pauser     = (*Consumer)(nil)
	_ pipeline.Controlled = (*Consumer)(nil)
)

// New checks the options and makes a consumer. It does nothing before its first Read.
func New(o Options) (*Consumer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	coord, err := coordinator.New(o.Coordinator)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	c := &Consumer{
		options: o, coordinator: coord, started: time.Now(),
		log:         o.Logger.With(slog.String("worker", o.Coordinator.ID)),
		wakeLoop:    make(chan struct{}, 1),
		wakeRead:    make(chan struct{}, 1),
		idleCalls:   make(chan func()),
		queue:       newQueue(),
		workedCalls: make(map[string]bool),
		failures:    make(map[callKey]failureSpan),
	}
	c.stopped, c.stop = context.WithCancel(context.Background())
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.tel, err = newTelemetry(c)
	if err != nil {
		c.cancel(nil)
		return nil, fmt.Errorf("consumer: metrics: %w", err)
	}
	return c, nil
}

// AtEnd returns the last report that all streams are read to their ends. It returns false before the first report. The
// coordinator sends such reports only if coordinator.Options.Idle is set.
func (c *Consumer) AtEnd() (coordinator.AtEnd, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.atEnd == nil {
		return coordinator.AtEnd{}, false
	}
	return *c.atEnd, true
}

// ID returns the consumer id in the lease table.
func (c *Consumer) ID() string { return c.options.Coordinator.ID }

func (c *Consumer) now() time.Duration { return time.Since(c.started) }

// sendEvent queues an event for the loop. It does not block for long, because inMu is never held during a step.
func (c *Consumer) sendEvent(e coordinator.Event) {
	c.inMu.Lock()
	c.inbox = append(c.inbox, e)
	c.inMu.Unlock()
	signal(c.wakeLoop)
}

// signal wakes the receiver of a channel of capacity 1. It does not block.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// loop gives the events to the coordinator, and performs its actions, until the coordinator has stopped.
func (c *Consumer) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var events []coordinator.Event
	for {
		c.inMu.Lock()
		events, c.inbox = c.inbox, events[:0]
		c.inMu.Unlock()
		actions, wake := c.stepAll(events)
		clear(events)
		c.perform(actions)
		c.lastStep.Store(int64(c.now()))
		if c.stopped.Err() != nil {
			return
		}
		timer.Reset(max(0, wake))
		select {
		case <-c.wakeLoop:
		case <-timer.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// stepAll gives events to the coordinator, and a Tick if one is due. It returns the actions to perform, and the time
// until the next Tick.
func (c *Consumer) stepAll(events []coordinator.Event) (actions []coordinator.Action, wake time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range events {
		c.step(e)
	}
	if c.coordinator.Wake() <= c.now() {
		c.step(coordinator.Tick{})
	}
	actions, c.actions = c.actions, nil
	return actions, c.coordinator.Wake() - c.now()
}

// step gives an event to the coordinator. It performs actions on the queue at once, and leaves other actions to the
// loop. The caller holds mu.
func (c *Consumer) step(e coordinator.Event) {
	for _, a := range c.coordinator.Step(c.now(), e) {
		switch a := a.(type) {
		case coordinator.Deliver:
			c.queue.push(a.Page)
			signal(c.wakeRead)
		case coordinator.Drop:
			c.queue.drop(a.Partition)
		case coordinator.Revoke:
			c.queue.drop(a.Partition)
			c.actions = append(c.actions, a)
		case coordinator.Forget:
			c.forgets = append(c.forgets, a)
			signal(c.wakeRead)
		default:
			c.actions = append(c.actions, a)
		}
	}
}
