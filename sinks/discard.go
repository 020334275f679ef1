package sinks

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
)

// Discard is the name of the Go sink that need not be given with [With]: it takes every change
// and keeps none. `sinks: {nothing: {custom: {name: discard}}}` tells how fast a stream is read,
// decoded and filtered before there is anything to write to.
const Discard = "discard"

func newDiscard(context.Context, struct{}) (pipeline.Sink, error) {
	return pipeline.SinkFunc(func(context.Context, []pipeline.Delivery) error { return nil }), nil
}
