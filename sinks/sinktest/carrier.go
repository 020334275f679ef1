package sinktest

import (
	"context"
	"fmt"
	"io"
	"math"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
)

// carrier is the sink of a pipeline that plans a worker's batches, each where it planned
// the one before: what a sink or its store keeps of a plan beyond a Write is overwritten, as
// in every pipeline. The worker writes them, on its own goroutine.
type carrier struct {
	worker   *worker
	pipeline *pipeline.Pipeline
	planned  chan []pipeline.Delivery
	written  chan struct{}
	err      error // of the first plan that failed
	panicked any   // of a plan
}

var (
	_ pipeline.Planner    = (*carrier)(nil)
	_ pipeline.KeyOrderer = (*carrier)(nil)
)

func newCarrier(w *worker) (*carrier, error) {
	c := &carrier{worker: w, planned: make(chan []pipeline.Delivery), written: make(chan struct{})}
	batch := pipeline.Batch{Count: math.MaxInt, Bytes: math.MaxInt64, Fill: true}
	var err error
	c.pipeline, err = pipeline.New(pipeline.Options{
		Name: "sinktest", Workers: 1, Meter: noop.NewMeterProvider(),
		Routes: []pipeline.Route{{Name: "sink", Sink: c, Concurrency: 1, Batch: batch}},
	})
	return c, err
}

// carry plans changes, and calls write with those that have an effect, all at once.
func (c *carrier) carry(ctx context.Context, changes []*pipeline.Change, write func(ds []pipeline.Delivery) error) (err error) {
	page := &pipeline.Page{Partition: "batch", Changes: make([]pipeline.Change, len(changes))}
	for i := range changes {
		page.Changes[i] = *changes[i]
	}
	source := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		p := page
		if page = nil; p == nil {
			return nil, io.EOF
		}
		return p, nil
	})
	ended := make(chan error, 1)
	c.err, c.panicked = nil, nil
	go func() { ended <- c.pipeline.Run(context.WithoutCancel(ctx), source, nil) }()
	select {
	case err = <-ended:
	case ds := <-c.planned:
		defer func() { // also where write panics, or ends the test
			c.written <- struct{}{}
			if failed := <-ended; err == nil {
				err = failed
			}
		}()
		if c.err == nil && c.panicked == nil {
			return write(ds)
		}
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	if c.err != nil {
		return c.err
	}
	return err
}

// Plan has the sink plan.
func (c *carrier) Plan(d *pipeline.Delivery) error {
	if c.worker.events != nil {
		d.Events = c.worker.events(d.Change)
	}
	p, ok := c.worker.sink.(pipeline.Planner)
	if !ok || c.err != nil || c.panicked != nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			c.panicked = v
		}
	}()
	err := p.Plan(d)
	if err != nil && c.worker.refused != nil && c.worker.refused(err) {
		c.worker.dead = append(c.worker.dead, letter{d.Change.Clone(), true})
		d.Ops, d.Outcome, d.Reason = nil, pipeline.NoEffect, "refused"
		return nil
	}
	if err == nil {
		err = checkPlan(d)
	}
	if err != nil {
		c.err = fmt.Errorf("plan of %s %s: %w", d.Change.EventName, d.Change.Key, err)
	}
	return nil
}

// Write gives the worker what is planned, until it has written it.
func (c *carrier) Write(_ context.Context, ds []pipeline.Delivery) error {
	c.planned <- ds
	<-c.written
	return nil
}

// KeepsKeyOrder is true: the worker does.
func (c *carrier) KeepsKeyOrder() bool { return true }
