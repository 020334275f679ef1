package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
)

// forwarder is a sink that does and says what another does and says, for those that
// change a part of it: where the other has no opinion, it says what a sink without
// one means to the pipeline.
type forwarder struct{ pipeline.Sink }

var (
	_ pipeline.Planner    = forwarder{}
	_ pipeline.Requirer   = forwarder{}
	_ pipeline.KeyOrderer = forwarder{}
	_ pipeline.Guarded    = forwarder{}
	_ pipeline.Flusher    = forwarder{}

	_ pipeline.EventIgnorer = forwarder{}
)

// Plan is the sink's.
func (f forwarder) Plan(d *pipeline.Delivery) error {
	if p, ok := f.Sink.(pipeline.Planner); ok {
		return p.Plan(d)
	}
	return nil
}

// Requires is the sink's.
func (f forwarder) Requires() pipeline.Needs {
	if r, ok := f.Sink.(pipeline.Requirer); ok {
		return r.Requires()
	}
	return pipeline.Needs{}
}

// KeepsKeyOrder is the sink's.
func (f forwarder) KeepsKeyOrder() bool {
	k, ok := f.Sink.(pipeline.KeyOrderer)
	return ok && k.KeepsKeyOrder()
}

// Guarded is the sink's.
func (f forwarder) Guarded() bool {
	g, ok := f.Sink.(pipeline.Guarded)
	return ok && g.Guarded()
}

// IgnoresEvents is what the sink says.
func (f forwarder) IgnoresEvents() bool {
	i, ok := f.Sink.(pipeline.EventIgnorer)
	return ok && i.IgnoresEvents()
}

// Flush is the sink's.
func (f forwarder) Flush(ctx context.Context) error {
	if fl, ok := f.Sink.(pipeline.Flusher); ok {
		return fl.Flush(ctx)
	}
	return nil
}
