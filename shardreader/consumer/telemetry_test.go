package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// meter reads metrics.
type meter struct {
	t        *testing.T
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
}

func newMeter(t *testing.T) *meter {
	r := sdkmetric.NewManualReader()
	return &meter{t, r, sdkmetric.NewMeterProvider(sdkmetric.WithReader(r))}
}

// gauge is the value of a metric at an attribute's value, "" for all; counters too.
func (m *meter) gauge(name, of string) (value float64) {
	m.t.Helper()
	var got metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &got); err != nil {
		m.t.Fatal(err)
	}
	found := false
	add := func(set attribute.Set, v float64) {
		for _, kv := range set.ToSlice() {
			if of == "" || kv.Value.AsString() == of {
				value, found = value+v, true
				return
			}
		}
		if of == "" {
			value, found = value+v, true
		}
	}
	for _, scope := range got.ScopeMetrics {
		for _, metric := range scope.Metrics {
			if metric.Name != name {
				continue
			}
			switch d := metric.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			}
		}
	}
	if !found {
		m.t.Errorf("there is no metric %s of %q", name, of)
	}
	return value
}

func TestTelemetry_LagIsHonest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, streamtest.Options{})
		defer r.tell()
		r.server.AddStream("shop")
		m, s := newMeter(t), newStore()
		hold := make(chan struct{})
		k := r.task("a", pipeline.SinkFunc(func(ctx context.Context, ds []pipeline.Delivery) error {
			<-hold
			return s.Write(ctx, ds)
		}), func(o *options) { o.Meter = m.provider })
		time.Sleep(time.Hour)
		if lag := m.gauge("tablewake.reader.lag", "shop"); lag != 0 {
			t.Errorf("an idle shard lags %v s", lag)
		}
		r.put("a", 1)
		time.Sleep(time.Hour)
		if lag := m.gauge("tablewake.reader.lag", "shop"); lag < 3600 || lag > 3602 {
			t.Errorf("with a sink that hangs for an hour the lag is %v s", lag)
		}
		if loss := m.gauge("tablewake.reader.loss", "shop"); loss < 22.9 || loss > 23 {
			t.Errorf("the hours until loss are %v", loss)
		}
		close(hold)
		r.until("written", s.seenAre(1))
		time.Sleep(time.Minute)
		for name, want := range map[string]float64{
			"tablewake.reader.lag": 0, "tablewake.reader.age": 0, "tablewake.reader.loss": 24, "tablewake.reader.leases": 1,
			"tablewake.reader.stopped": 0, "tablewake.reader.records": 1,
		} {
			if got := m.gauge(name, "shop"); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if n := m.gauge("tablewake.reader.calls", "GetRecords"); n < 1440 || n > 7200 {
			t.Errorf("%v GetRecords calls in 2 idle hours at one in 5 seconds", n)
		}
		if n := m.gauge("tablewake.reader.forecast", ""); n < 400_000 || n > 1_000_000 {
			t.Errorf("the forecast is %v calls a month", n)
		}
		if n := m.gauge("tablewake.reader.contact", ""); n != 1 {
			t.Errorf("in contact: %v", n)
		}
		if err := k.end(); err != nil {
			t.Error(err)
		}
	})
}
