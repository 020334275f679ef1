// Package instrument makes the metric instruments of a package, and collects their errors.
package instrument

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// Maker makes instruments. An instrument that could not be made does nothing. [Maker.Err] returns the errors of all
// instruments.
type Maker struct {
	meter metric.Meter
	errs  []error
}

// New returns a Maker for one scope. scope is the import path of the package that measures.
func New(p metric.MeterProvider, scope string) *Maker { return &Maker{meter: p.Meter(scope)} }

// Err returns the errors of the instruments that could not be made.
func (k *Maker) Err() error { return errors.Join(k.errs...) }

// keepError keeps the error of an instrument that could not be made, and returns the instrument.
func keepError[I any](k *Maker, instrument I, err error) I {
	if err != nil {
		k.errs = append(k.errs, err)
	}
	return instrument
}

// Counter makes a counter of events.
func (k *Maker) Counter(name, unit, text string) metric.Int64Counter {
	i, err := k.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// FloatCounter makes a counter of amounts that may have fractions.
func (k *Maker) FloatCounter(name, unit, text string) metric.Float64Counter {
	i, err := k.meter.Float64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// Gauge makes a gauge of a current value.
func (k *Maker) Gauge(name, unit, text string) metric.Float64Gauge {
	i, err := k.meter.Float64Gauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// Durations makes a histogram of times in seconds. Its buckets reach from a millisecond to one minute, because calls
// are cancelled after one minute.
func (k *Maker) Durations(name, text string) metric.Float64Histogram {
	i, err := k.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60))
	return keepError(k, i, err)
}

// Sizes makes a histogram of sizes of groups, such as changes in a batch.
func (k *Maker) Sizes(name, unit, text string) metric.Int64Histogram {
	i, err := k.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000))
	return keepError(k, i, err)
}

// ObservableCounter makes a counter that a callback sets at each collection.
func (k *Maker) ObservableCounter(name, unit, text string) metric.Int64ObservableCounter {
	i, err := k.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// ObservableIntGauge makes a gauge of whole numbers that a callback sets at each collection.
func (k *Maker) ObservableIntGauge(name, unit, text string) metric.Int64ObservableGauge {
	i, err := k.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// ObservableGauge makes a gauge with fractions that a callback sets at each collection.
func (k *Maker) ObservableGauge(name, unit, text string) metric.Float64ObservableGauge {
	i, err := k.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return keepError(k, i, err)
}

// Observe registers a callback that sets the instruments at each collection. It returns nil if one of the instruments
// of k could not be made.
func (k *Maker) Observe(f metric.Callback, instruments ...metric.Observable) metric.Registration {
	if len(k.errs) > 0 {
		return nil
	}
	r, err := k.meter.RegisterCallback(f, instruments...)
	return keepError(k, r, err)
}
