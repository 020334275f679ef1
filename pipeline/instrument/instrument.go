// Package instrument makes the instruments of a part of the program, and gathers what fails.
package instrument

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// Maker makes instruments. One that could not be made does nothing, and [Maker.Err] tells of
// it, once for all of them.
type Maker struct {
	meter metric.Meter
	errs  []error
}

// New makes instruments of the scope, which is the import path of who measures.
func New(p metric.MeterProvider, scope string) *Maker { return &Maker{meter: p.Meter(scope)} }

// Err is what could not be made.
func (k *Maker) Err() error { return errors.Join(k.errs...) }

func kept[I any](k *Maker, i I, err error) I {
	if err != nil {
		k.errs = append(k.errs, err)
	}
	return i
}

// Counter counts what happens.
func (k *Maker) Counter(name, unit, text string) metric.Int64Counter {
	i, err := k.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Amounts counts what comes in fractions.
func (k *Maker) Amounts(name, unit, text string) metric.Float64Counter {
	i, err := k.meter.Float64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Value is what something is now.
func (k *Maker) Value(name, unit, text string) metric.Float64Gauge {
	i, err := k.meter.Float64Gauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Durations measures times, in seconds: from a millisecond to the minute after which calls
// are given up.
func (k *Maker) Durations(name, text string) metric.Float64Histogram {
	i, err := k.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60))
	return kept(k, i, err)
}

// Sizes measures how many things come together.
func (k *Maker) Sizes(name, unit, text string) metric.Int64Histogram {
	i, err := k.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000))
	return kept(k, i, err)
}

// Counted is a counter that is read when it is collected.
func (k *Maker) Counted(name, unit, text string) metric.Int64ObservableCounter {
	i, err := k.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Number is a quantity that is read when it is collected.
func (k *Maker) Number(name, unit, text string) metric.Int64ObservableGauge {
	i, err := k.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Reading is a measure that is read when it is collected.
func (k *Maker) Reading(name, unit, text string) metric.Float64ObservableGauge {
	i, err := k.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	return kept(k, i, err)
}

// Observe has f called when the instruments are collected. It is not where one of them could
// not be made.
func (k *Maker) Observe(f metric.Callback, of ...metric.Observable) metric.Registration {
	if len(k.errs) > 0 {
		return nil
	}
	r, err := k.meter.RegisterCallback(f, of...)
	return kept(k, r, err)
}
