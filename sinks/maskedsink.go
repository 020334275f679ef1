package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
)

// maskedSink hands a sink masked changes and events, and what nothing is hidden of as
// it is.
type maskedSink struct {
	forwarder
	mask *pipeline.Mask
}

// Plan has the sink plan by the masked change.
func (s maskedSink) Plan(d *pipeline.Delivery) error {
	masked := s.mask.Delivery(d)
	err := s.forwarder.Plan(&masked)
	d.Ops, d.Outcome, d.Reason = masked.Ops, masked.Outcome, masked.Reason
	return err
}

// Write hands on the masked deliveries, and brings back what became of them.
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

// keyHolder refuses changes of which a key attribute is hidden.
type keyHolder struct {
	forwarder
	hidden *pipeline.Mask
	refuse func(attribute string) error
}

// Plan is the sink's, of a change whose key it may hold.
func (s keyHolder) Plan(d *pipeline.Delivery) error {
	if attribute, hidden := s.hidden.HiddenKey(d.Change); hidden {
		return s.refuse(attribute)
	}
	return s.forwarder.Plan(d)
}
