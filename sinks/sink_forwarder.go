package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
)

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

// writeSelected writes some of the deliveries ds. selected has the indexes of these deliveries. failed has the errors
// of the other deliveries.
func (f forwarder) writeSelected(
	ctx context.Context, ds []pipeline.Delivery, selected []int, failed pipeline.BatchError,
) error {
	switch len(selected) {
	case len(ds):
		return f.Write(ctx, ds)
	case 0:
		return failed.OrNil()
	}
	written := make([]pipeline.Delivery, len(selected))
	for n, i := range selected {
		written[n] = ds[i]
	}
	writeFailed, err := pipeline.FailuresOf(f.Write(ctx, written), len(written))
	if err != nil {
		return err // all fail, and the pipeline writes each of them again
	}
	for n, i := range selected {
		ds[i].Outcome, ds[i].Reason = written[n].Outcome, written[n].Reason
		failed.Add(i, writeFailed[n])
	}
	return failed.OrNil()
}
