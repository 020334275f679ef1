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
// One goroutine, the loop, gives the worker what calls, timers and the pipeline
// bring. Only Read gives it something itself: that a page was taken, and that the worker had taken it
// back before, must be one thing.
//
// Nothing is called while a lock is held, neither the pipeline nor a store: the
// pipeline calls Pause with locks of its own.
type Consumer struct {
	o          Options
	log        *slog.Logger
	tel        *telemetry
	started    time.Time
	wakeLoop   chan struct{} // wakes the loop; capacity 1
	pageQueued chan struct{} // wakes Read; capacity 1

	ctx        context.Context // of the calls and the loop
	cancel     context.CancelCauseFunc
	startOnce  sync.Once
	stopped    chan struct{} // closed when the worker has let everything go
	goroutines sync.WaitGroup
	idleCalls  chan func() // takes a call where a goroutine waits for one
	closeMu    sync.Mutex
	closed     bool
	closeErr   error // of Close

	lastStep atomic.Int64 // when the loop last was through, nanoseconds since began

	inMu  sync.Mutex // guards inbox
	inbox []coordinator.Event

	mu          sync.Mutex // guards what follows; never held together with inMu
	coordinator *coordinator.Coordinator
	queue       queue                // delivered and not taken
	actions     []coordinator.Action // for the loop to do

	forgets []coordinator.Action // to be forgotten once the pipeline has what Read returned of them

	control       pipeline.Control   // nil while there is no run
	readCtx       context.Context    // of Read, as it was last seen
	leaving       bool               // nothing more is read
	fatal         error              // that ended reading
	atEnd         *coordinator.AtEnd // the last word that all is read; nil before the first
	workedCalls   map[string]bool    // kinds of calls
	failures      map[callKey]deniedSpan
	stoppedClosed bool // stopped is closed
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
	w, err := coordinator.New(o.Coordinator)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	c := &Consumer{
		o: o, coordinator: w, started: time.Now(),
		log:         o.Logger.With(slog.String("worker", o.Coordinator.ID)),
		wakeLoop:    make(chan struct{}, 1),
		pageQueued:  make(chan struct{}, 1),
		stopped:     make(chan struct{}),
		idleCalls:   make(chan func()),
		queue:       newQueue(),
		workedCalls: make(map[string]bool),
		failures:    make(map[callKey]deniedSpan),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if c.tel, err = newTelemetry(c); err != nil {
		c.cancel(nil)
		return nil, fmt.Errorf("consumer: metrics: %w", err)
	}
	return c, nil
}

// AtEnd is the last word that all is read, where coordinator.Options.Idle asks for it; false before the first.
func (c *Consumer) AtEnd() (coordinator.AtEnd, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.atEnd == nil {
		return coordinator.AtEnd{}, false
	}
	return *c.atEnd, true
}

// Worker is the id that the consumer has in the lease table.
func (c *Consumer) ID() string { return c.o.Coordinator.ID }

func (c *Consumer) now() time.Duration { return time.Since(c.started) }

// begin starts the loop, once.
func (c *Consumer) startLoop() {
	c.startOnce.Do(func() {
		c.sendEvent(coordinator.Tick{})
		c.goroutines.Go(c.loop)
	})
}

// send gives the loop an event. It takes no lock that is held while anything is done.
func (c *Consumer) sendEvent(e coordinator.Event) {
	c.inMu.Lock()
	c.inbox = append(c.inbox, e)
	c.inMu.Unlock()
	signal(c.wakeLoop)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (c *Consumer) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var events []coordinator.Event
	for {
		c.inMu.Lock()
		events, c.inbox = c.inbox, events[:0]
		c.inMu.Unlock()
		c.mu.Lock()
		for _, e := range events {
			c.step(e)
		}
		if c.coordinator.Wake() <= c.now() {
			c.step(coordinator.Tick{})
		}
		out := c.actions
		c.actions = nil
		wake := c.coordinator.Wake() - c.now()
		c.mu.Unlock()
		clear(events)
		c.perform(out)
		c.lastStep.Store(int64(c.now()))
		if c.isStopped() {
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

// step gives the worker an event. What concerns the queue is done at once, the rest
// by the loop. mu is held.
func (c *Consumer) step(e coordinator.Event) {
	for _, a := range c.coordinator.Step(c.now(), e) {
		switch a := a.(type) {
		case coordinator.Deliver:
			c.queue.push(a.Page)
			signal(c.pageQueued)
		case coordinator.Drop:
			c.queue.drop(a.Partition)
		case coordinator.Revoke:
			c.queue.drop(a.Partition)
			c.actions = append(c.actions, a)
		case coordinator.Forget:
			c.forgets = append(c.forgets, a)
			signal(c.pageQueued)
		default:
			c.actions = append(c.actions, a)
		}
	}
}

// done tells Close that nothing is left.
func (c *Consumer) markStopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stoppedClosed {
		c.stoppedClosed = true
		close(c.stopped)
	}
}
