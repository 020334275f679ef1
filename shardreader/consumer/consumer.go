package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/worker"
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
	o     Options
	log   *slog.Logger
	tel   *telemetry
	began time.Time
	poke  chan struct{} // wakes the loop; capacity 1
	pages chan struct{} // wakes Read; capacity 1

	ctx     context.Context // of the calls and the loop
	cancel  context.CancelCauseFunc
	start   sync.Once
	stopped chan struct{} // closed when the worker has let everything go
	work    sync.WaitGroup
	idle    chan func() // takes a call where a goroutine waits for one
	closing sync.Mutex
	closed  bool
	result  error // of Close

	stepped atomic.Int64 // when the loop last was through, nanoseconds since began

	inMu  sync.Mutex // guards inbox
	inbox []worker.Event

	mu    sync.Mutex // guards what follows; never held together with inMu
	w     *worker.Worker
	queue queue           // delivered and not taken
	out   []worker.Action // for the loop to do

	gone []worker.Action // to be forgotten once the pipeline has what Read returned of them

	control pipeline.Control // nil while there is no run
	reading context.Context  // of Read, as it was last seen
	leaving bool             // nothing more is read
	fatal   error            // that ended reading
	atEnd   *worker.AtEnd    // the last word that all is read; nil before the first
	worked  map[string]bool  // kinds of calls
	failing map[callOf]failures
	isDone  bool // stopped is closed
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
	w, err := worker.New(o.Worker)
	if err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	c := &Consumer{
		o: o, w: w, began: time.Now(),
		log:     o.Logger.With(slog.String("worker", o.Worker.Worker)),
		poke:    make(chan struct{}, 1),
		pages:   make(chan struct{}, 1),
		stopped: make(chan struct{}),
		idle:    make(chan func()),
		queue:   newQueue(),
		worked:  make(map[string]bool),
		failing: make(map[callOf]failures),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if c.tel, err = newTelemetry(c); err != nil {
		c.cancel(nil)
		return nil, fmt.Errorf("consumer: metrics: %w", err)
	}
	return c, nil
}

// AtEnd is the last word that all is read, where worker.Options.Idle asks for it; false before the first.
func (c *Consumer) AtEnd() (worker.AtEnd, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.atEnd == nil {
		return worker.AtEnd{}, false
	}
	return *c.atEnd, true
}

// Worker is the id that the consumer has in the lease table.
func (c *Consumer) Worker() string { return c.o.Worker.Worker }

func (c *Consumer) now() time.Duration { return time.Since(c.began) }

// begin starts the loop, once.
func (c *Consumer) begin() {
	c.start.Do(func() {
		c.send(worker.Tick{})
		c.work.Go(c.loop)
	})
}

// send gives the loop an event. It takes no lock that is held while anything is done.
func (c *Consumer) send(e worker.Event) {
	c.inMu.Lock()
	c.inbox = append(c.inbox, e)
	c.inMu.Unlock()
	signal(c.poke)
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
	var events []worker.Event
	for {
		c.inMu.Lock()
		events, c.inbox = c.inbox, events[:0]
		c.inMu.Unlock()
		c.mu.Lock()
		for _, e := range events {
			c.step(e)
		}
		if c.w.Wake() <= c.now() {
			c.step(worker.Tick{})
		}
		out := c.out
		c.out = nil
		wake := c.w.Wake() - c.now()
		c.mu.Unlock()
		clear(events)
		c.perform(out)
		c.stepped.Store(int64(c.now()))
		if c.isStopped() {
			return
		}
		timer.Reset(max(0, wake))
		select {
		case <-c.poke:
		case <-timer.C:
		case <-c.ctx.Done():
			return
		}
	}
}

// step gives the worker an event. What concerns the queue is done at once, the rest
// by the loop. mu is held.
func (c *Consumer) step(e worker.Event) {
	for _, a := range c.w.Step(c.now(), e) {
		switch a := a.(type) {
		case worker.Deliver:
			c.queue.push(a.Page)
			signal(c.pages)
		case worker.Drop:
			c.queue.drop(a.Partition)
		case worker.Revoke:
			c.queue.drop(a.Partition)
			c.out = append(c.out, a)
		case worker.Forget:
			c.gone = append(c.gone, a)
			signal(c.pages)
		default:
			c.out = append(c.out, a)
		}
	}
}

// done tells Close that nothing is left.
func (c *Consumer) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isDone {
		c.isDone = true
		close(c.stopped)
	}
}
