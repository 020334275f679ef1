package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// numbers returns the values of the collected metrics by name and attributes. The value of a histogram is its count.
func numbers(t *testing.T, r *metric.ManualReader) map[string]float64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					out[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = float64(p.Sum)
				}
			}
		}
	}
	return out
}

func TestTelemetry_MetricsSayWhatTheLedgersSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		s := &recorder{fail: failing("a", 1, Transient(errDown))}
		p := newPipeline(t, s, func(o *Options) {
			o.Meter = metric.NewMeterProvider(metric.WithReader(reader))
			o.Filters = []Filter{FilterFunc(func(c *record.Change) (Verdict, error) { return Verdict{Drop: c.Key == "x", Reason: "is_x"}, nil })}
			o.Detectors = []NamedDetector{{"all", DetectorFunc(func(dst []Event, c *record.Change) ([]Event, error) { return append(dst, Event{}), nil })}}
		})
		if err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "b", "x")), nil); err != nil {
			t.Fatal(err)
		}
		got := numbers(t, reader)
		for want, v := range map[string]float64{
			"tablewake.source.records outcome=filtered,pipeline=test,reason=is_x": 1,
			"tablewake.source.records outcome=routed,pipeline=test":               2,
			"tablewake.sink.deliveries outcome=written,pipeline=test,sink=s":      2,
			"tablewake.sink.pending pipeline=test,sink=s":                         0,
			"tablewake.sink.retries pipeline=test,sink=s":                         1,
			"tablewake.events detector=all,pipeline=test":                         2,
			"tablewake.prepare.duration pipeline=test":                            1,
			"tablewake.write.duration pipeline=test,sink=s":                       2,
			"tablewake.write.batch.size pipeline=test,sink=s":                     3,
			"tablewake.inflight.bytes pipeline=test":                              0,
			"tablewake.inflight.changes pipeline=test":                            0,
		} {
			if n, ok := got[want]; !ok || n != v {
				t.Errorf("%s is %v (there: %v), want %v", want, n, ok, v)
			}
		}
		newest := change("a", 1).Time
		for _, key := range []string{"tablewake.lag pipeline=test,stage=read", "tablewake.lag pipeline=test,sink=s,stage=sink"} {
			if got[key] != time.Since(newest).Seconds() {
				t.Errorf("%s is %v, want %v", key, got[key], time.Since(newest).Seconds())
			}
		}
	})
}

func TestTelemetry_WritesAreLinkedToTheirPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		p := newPipeline(t, &recorder{keepsOrder: true}, fill(4), func(o *Options) {
			o.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans))
		})
		n := map[string]int{}
		if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "b"), pageOf(n, "q", 1, "c", "d")), nil); err != nil {
			t.Fatal(err)
		}
		var names []string
		pages := map[string]bool{}
		for _, s := range spans.GetSpans() {
			names = append(names, s.Name)
			if s.Name == "tablewake.page" {
				pages[s.SpanContext.SpanID().String()] = true
			}
		}
		for _, s := range spans.GetSpans() {
			if s.Name != "tablewake.write" {
				continue
			}
			if len(s.Links) != 2 {
				t.Errorf("the Write has %d links, want one to each page", len(s.Links))
			}
			for _, l := range s.Links {
				if !pages[l.SpanContext.SpanID().String()] {
					t.Error("a link leads to no page")
				}
			}
		}
		slices.Sort(names)
		if want := "[tablewake.page tablewake.page tablewake.write]"; fmt.Sprint(names) != want {
			t.Errorf("spans %v, want %v", names, want)
		}
	})
}

// lockedBuffer is a log that several goroutines can write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestTelemetry_LogsAndSpansShowNothingOfItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "canary"
		var log lockedBuffer
		spans := tracetest.NewInMemoryExporter()
		n := map[string]int{}
		tries := 0
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			switch tries++; tries {
			case 1:
				return Transient(fmt.Errorf("row %s is locked", secret))
			case 2:
				panic("row " + secret)
			default:
				return fmt.Errorf("row %s is wrong", secret)
			}
		}}
		fails := 1
		g := &graveyard{fail: func() error {
			if fails--; fails == 0 {
				return errors.New("no space for " + secret)
			}
			return nil
		}}
		p := newPipeline(t, s, func(o *Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			o.DeadLetters = g
			o.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans))
		})
		page := withBad(pageOf(n, "p", 1, secret, secret+"2"))
		page.Errors[0].Err = errors.New("bad " + secret)
		page.Errors[0].Key = item.Key(secret)
		if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
			t.Fatal(err)
		}
		if text := log.b.String(); strings.Contains(text, secret) {
			t.Errorf("the log shows an item:\n%s", text)
		} else if n := strings.Count(text, "dead letters") + strings.Count(text, "dead-lettered"); n < 3 {
			t.Errorf("the log does not tell of dead letters:\n%s", text)
		}
		if text := fmt.Sprintf("%+v", spans.GetSpans()); strings.Contains(text, secret) {
			t.Errorf("a span shows an item: %s", text)
		}
		if len(g.letters) != 3 {
			t.Errorf("%d letters, want 3", len(g.letters))
		}
	})
}

func TestTelemetry_RetriesAreLoggedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		s := &recorder{fail: func(context.Context, []Delivery) error { return RetryAfter(errDown, 100*time.Millisecond) }}
		p := newPipeline(t, s, func(o *Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			o.Backoff = Backoff{Base: 1, Max: 1}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Run(ctx, endless(pageOf(map[string]int{}, "p", 1, "a", "b")), nil); err == nil {
			t.Error("no StopError")
		}
		if n := strings.Count(log.b.String(), "tried again"); n < 6 || n > 12 {
			t.Errorf("%d lines for 900 failures within 90 s:\n%s", n, log.b.String())
		}
	})
}
