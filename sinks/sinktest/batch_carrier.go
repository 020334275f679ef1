package sinktest

import (
	"context"
	"fmt"
	"io"
	"math"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// carrier is a sink that plans the batches of a worker in a real pipeline. A pipeline reuses the memory of plans from
// batch to batch. If a sink or a store keeps a part of a plan beyond its Write, the next batch overwrites that part. So
// the suite detects such a sink. If the sink panics, carrier catches the panic and raises it again in the worker.
type carrier struct {
	worker   *worker
	pipeline *pipeline.Pipeline
	write    func(ds []pipeline.Delivery) error
	err      error // error of the first plan that failed, or of the write
	panicked any
}

var (
	_ pipeline.Planner    = (*carrier)(nil)
	_ pipeline.KeyOrderer = (*carrier)(nil)
)

func newCarrier(w *worker) (*carrier, error) {
	c := &carrier{worker: w}
	batch := pipeline.Batch{Count: math.MaxInt, Bytes: math.MaxInt64, Fill: true}
	var err error
	c.pipeline, err = pipeline.New(pipeline.Options{
		Name: "sinktest", Workers: 1, Meter: noop.NewMeterProvider(),
		Routes: []pipeline.Route{{Name: "sink", Sink: c, Concurrency: 1, Batch: batch}},
	})
	return c, err
}

// planAndWrite plans changes, and calls write once with the deliveries that have an effect.
func (c *carrier) planAndWrite(
	ctx context.Context, changes []*record.Change, write func(ds []pipeline.Delivery) error,
) error {
	page := &pipeline.Page{Page: record.Page{Changes: make([]record.Change, len(changes))}, Partition: "batch"}
	for i := range changes {
		page.Changes[i] = *changes[i]
	}
	isRead := false
	source := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if isRead {
			return nil, io.EOF
		}
		isRead = true
		return page, nil
	})
	c.write, c.err, c.panicked = write, nil, nil
	err := c.pipeline.Run(context.WithoutCancel(ctx), source, nil)
	if c.panicked != nil {
		panic(c.panicked)
	}
	if c.err != nil {
		return c.err
	}
	return err
}

// hasFailed reports whether the batch has failed.
func (c *carrier) hasFailed() bool { return c.err != nil || c.panicked != nil }

// catch keeps a panic for the worker.
func (c *carrier) catch() {
	if v := recover(); v != nil {
		c.panicked = v
	}
}

// Plan calls the sink's Plan. It returns nil even if that fails, because planAndWrite returns the error.
func (c *carrier) Plan(d *pipeline.Delivery) error {
	if c.worker.events != nil {
		d.Events = c.worker.events(d.Change)
	}
	planner, isPlanner := c.worker.sink.(pipeline.Planner)
	if isPlanner && !c.hasFailed() {
		defer c.catch()
		c.err = c.planBy(planner, d)
	}
	return nil
}

// planBy plans a delivery. If the sink may refuse the change, planBy dead-letters the change and returns nil.
func (c *carrier) planBy(planner pipeline.Planner, d *pipeline.Delivery) error {
	err := planner.Plan(d)
	if err != nil && c.worker.mayRefuse(err) {
		c.worker.dead = append(c.worker.dead, letter{change: d.Change.Clone(), refused: true})
		d.Ops, d.Outcome, d.Reason = nil, pipeline.NoEffect, "refused"
		return nil
	}
	if err == nil {
		err = checkPlan(d)
	}
	if err != nil {
		return fmt.Errorf("plan of %s %s: %w", d.Change.EventName, d.Change.Key, err)
	}
	return nil
}

// Write lets the worker write the planned deliveries. It returns nil, because planAndWrite returns the error.
func (c *carrier) Write(_ context.Context, ds []pipeline.Delivery) error {
	if !c.hasFailed() {
		defer c.catch()
		c.err = c.write(ds)
	}
	return nil
}

// KeepsKeyOrder returns true, because the worker keeps the order.
func (c *carrier) KeepsKeyOrder() bool { return true }
