package sinks

import (
	"cmp"
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/instrument"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// CountNoEntity counts the changes that the filters keep and whose item belongs to no entity. It counts them in n and
// in a metric. It counts nothing if the file has no entities.
func CountNoEntity(n *atomic.Int64) Option {
	return optionFunc(func(a *assembly) { a.noEntity = n })
}

// noEntity is a filter that keeps every change, and counts the changes whose item belongs to no entity.
type noEntity struct {
	entities *entity.Set
	n        *atomic.Int64
	counter  metric.Int64Counter
	labels   metric.AddOption
}

var _ pipeline.Filter = noEntity{}

// newNoEntity returns the filter of a file with entities.
func (a *assembly) newNoEntity(es *entity.Set) (noEntity, error) {
	meter := a.options.Meter
	meter = cmp.Or(meter, otel.GetMeterProvider())
	k := instrument.New(meter, "github.com/tablewake/tablewake/sinks")
	f := noEntity{entities: es, n: a.noEntity}
	f.counter = k.Counter("tablewake.source.no_entity", "{change}", "changes that the filters keep, of items of no entity")
	f.labels = metric.WithAttributeSet(attribute.NewSet(attribute.String("pipeline", a.cfg.Name)))
	return f, k.Err()
}

// Check counts the change. If a condition of an entity fails, the sink or filter that uses the entity reports it.
func (f noEntity) Check(c *record.Change) (pipeline.Verdict, error) {
	if e, err := f.entities.Of(rules.LatestImage(c)); e == nil && err == nil {
		f.n.Add(1)
		f.counter.Add(context.Background(), 1, f.labels)
	}
	return pipeline.Verdict{}, nil
}
