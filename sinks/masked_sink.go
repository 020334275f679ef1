package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// maskedSink passes masked changes and events to a sink. It passes a delivery without hidden attributes unchanged.
type maskedSink struct {
	forwarder
	mask *mask.Mask
}

// Plan passes the masked change to the sink's Plan.
func (s maskedSink) Plan(d *pipeline.Delivery) error {
	masked := s.mask.Delivery(d)
	err := s.forwarder.Plan(&masked)
	d.Ops, d.Outcome, d.Reason = masked.Ops, masked.Outcome, masked.Reason
	return err
}

// Write writes the masked deliveries and copies their outcomes back.
func (s maskedSink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	masked := make([]pipeline.Delivery, len(ds))
	for i := range ds {
		masked[i] = s.mask.Delivery(&ds[i])
	}
	err := s.Sink.Write(ctx, masked)
	for i := range ds {
		ds[i].Outcome, ds[i].Reason = masked[i].Outcome, masked[i].Reason
	}
	return err
}

// keyRefuser refuses changes whose key has a hidden attribute.
type keyRefuser struct {
	forwarder
	hidden *mask.Mask
	refuse func(attribute string) error
}

// Plan plans the change unless its key has a hidden attribute.
func (s keyRefuser) Plan(d *pipeline.Delivery) error {
	if attribute, hidden := s.hidden.HiddenKey(d.Change); hidden {
		return s.refuse(attribute)
	}
	return s.forwarder.Plan(d)
}

// forwarder passes every method to another sink. Sinks that change some methods embed it. If the
// other sink does not implement an optional interface, the method of forwarder returns the pipeline's default.
type forwarder struct{ pipeline.Sink }

var (
	_ pipeline.Planner    = forwarder{}
	_ pipeline.Requirer   = forwarder{}
	_ pipeline.KeyOrderer = forwarder{}
	_ pipeline.Guarded    = forwarder{}
	_ pipeline.Flusher    = forwarder{}

	_ pipeline.EventIgnorer = forwarder{}
)

// Plan implements [pipeline.Planner].
func (f forwarder) Plan(d *pipeline.Delivery) error {
	if p, ok := f.Sink.(pipeline.Planner); ok {
		return p.Plan(d)
	}
	return nil
}

// Requires implements [pipeline.Requirer].
func (f forwarder) Requires() pipeline.Needs {
	if r, ok := f.Sink.(pipeline.Requirer); ok {
		return r.Requires()
	}
	return pipeline.Needs{}
}

// KeepsKeyOrder implements [pipeline.KeyOrderer].
func (f forwarder) KeepsKeyOrder() bool {
	k, ok := f.Sink.(pipeline.KeyOrderer)
	return ok && k.KeepsKeyOrder()
}

// Guarded implements [pipeline.Guarded].
func (f forwarder) Guarded() bool {
	g, ok := f.Sink.(pipeline.Guarded)
	return ok && g.Guarded()
}

// IgnoresEvents implements [pipeline.EventIgnorer].
func (f forwarder) IgnoresEvents() bool {
	i, ok := f.Sink.(pipeline.EventIgnorer)
	return ok && i.IgnoresEvents()
}

// Flush implements [pipeline.Flusher].
func (f forwarder) Flush(ctx context.Context) error {
	if fl, ok := f.Sink.(pipeline.Flusher); ok {
		return fl.Flush(ctx)
	}
	return nil
}
