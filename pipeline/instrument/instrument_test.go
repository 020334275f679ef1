package instrument_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

// Each method makes an instrument of its kind, with its unit and description.
func TestMaker(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	k := instrument.New(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), "test")
	ctx := t.Context()
	k.Counter("a", "{x}", "text").Add(ctx, 1)
	k.FloatCounter("b", "{x}", "text").Add(ctx, 0.5)
	k.Gauge("c", "{x}", "text").Record(ctx, 1)
	k.Durations("d", "text").Record(ctx, 0.3)
	k.Sizes("e", "{x}", "text").Record(ctx, 3)
	f, g, h := k.ObservableCounter("f", "{x}", "text"), k.ObservableIntGauge("g", "{x}", "text"), k.ObservableGauge("h", "{x}", "text")
	registered := k.Observe(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(f, 1)
		o.ObserveInt64(g, 1)
		o.ObserveFloat64(h, 1)
		return nil
	}, f, g, h)
	if err := k.Err(); err != nil || registered == nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &rm); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, m := range rm.ScopeMetrics[0].Metrics {
		names += m.Name
		if m.Description != "text" || m.Unit != "{x}" && m.Unit != "s" {
			t.Errorf("%s has the unit %q and says %q", m.Name, m.Unit, m.Description)
		}
	}
	if names != "abcdefgh" {
		t.Errorf("there are %s", names)
	}
}

// An instrument that could not be made is reported by Err and does nothing.
func TestMaker_Errors(t *testing.T) {
	k := instrument.New(sdkmetric.NewMeterProvider(), "test")
	k.Counter("1 is no name", "{x}", "text").Add(t.Context(), 1)
	k.Durations("2 neither", "text").Record(t.Context(), 1)
	if r := k.Observe(func(context.Context, metric.Observer) error { return nil }); r != nil {
		t.Error("something is observed")
	}
	if err := k.Err(); err == nil || !strings.Contains(err.Error(), "1 is no name") || !strings.Contains(err.Error(), "2 neither") {
		t.Errorf("the error is %v", err)
	}
}
