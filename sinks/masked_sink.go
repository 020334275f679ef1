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
