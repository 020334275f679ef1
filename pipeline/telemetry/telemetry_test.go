package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/instrument"
	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// env sets the variables kv and returns a lookup of them. It sets them in the process too, because the SDK reads some
// by itself.
func env(t *testing.T, kv ...string) func(string) string {
	t.Helper()
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		t.Setenv(kv[i], kv[i+1])
		m[kv[i]] = kv[i+1]
	}
	return func(name string) string { return m[name] }
}

func start(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	o.Pipeline = "shop"
	tel, err := telemetry.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel
}

// Nothing is exported unless it is requested. Each variable has the meaning of the OpenTelemetry specification.
func TestStart_WhereThingsGo(t *testing.T) {
	for _, test := range []struct {
		env     []string
		metrics config.Metrics
		lambda  bool
		want    string
	}{
		{nil, config.MetricsDefault, false, "metrics none, traces none"},
		{nil, config.MetricsOTLP, false, "metrics none, traces none"},
		{nil, config.MetricsDefault, true, "metrics as EMF, traces none"},
		{nil, config.MetricsNone, true, "metrics none, traces none"},
		{nil, config.MetricsEMF, false, "metrics as EMF, traces none"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"}, config.MetricsDefault, false, "metrics by otlp (http/protobuf), traces by otlp (http/protobuf)"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, config.MetricsDefault, false, "metrics by otlp (grpc), traces by otlp (grpc)"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"}, config.MetricsEMF, false, "metrics as EMF, traces by otlp (grpc)"},
		{[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1"}, config.MetricsDefault, false, "metrics by otlp (http/protobuf), traces none"},
		{[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1"}, config.MetricsOTLP, true, "metrics by otlp (http/protobuf), traces none"},
		{[]string{"OTEL_TRACES_EXPORTER", "console", "OTEL_METRICS_EXPORTER", "console"}, config.MetricsDefault, false, "metrics on the console, traces on the console"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none"}, config.MetricsDefault, false, "metrics none, traces none"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "true"}, config.MetricsEMF, false, "metrics none, traces none"},
	} {
		t.Run(test.want, func(t *testing.T) {
			tel := start(t, telemetry.Options{Environ: env(t, test.env...), Metrics: test.metrics, Lambda: test.lambda, Writer: io.Discard, Patience: 50 * time.Millisecond})
			if tel.String() != test.want {
				t.Errorf("%v, %q, %v: %s", test.env, test.metrics, test.lambda, tel)
			}
			if tel.Tracer == nil || tel.Meter == nil || tel.Propagator == nil {
				t.Error("something is nil")
			}
		})
	}
}

func TestStart_NamesWhatIsWrong(t *testing.T) {
	for _, kv := range [][]string{
		{"OTEL_TRACES_EXPORTER", "zipkin"}, {"OTEL_METRICS_EXPORTER", "prometheus"}, {"OTEL_PROPAGATORS", "pigeon"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}, {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "udp"},
	} {
		_, err := telemetry.Start(t.Context(), telemetry.Options{Pipeline: "shop", Environ: env(t, append(kv, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1")...)})
		if err == nil || !strings.Contains(err.Error(), kv[0]) {
			t.Errorf("%v: %v", kv, err)
		}
	}
	if _, err := telemetry.Start(t.Context(), telemetry.Options{}); err == nil {
		t.Error("no pipeline is no error")
	}
}

// On Lambda only Flush writes metrics. Each Flush writes the measurements since the previous Flush.
func TestFlush_Lambda(t *testing.T) {
	var out bytes.Buffer
	tel := start(t, telemetry.Options{Environ: env(t), Lambda: true, Writer: &out})
	n, err := tel.Meter.Meter("test").Int64Counter("n")
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []int64{2, 5} {
		n.Add(t.Context(), add, metric.WithAttributes(attribute.String("pipeline", "shop")))
		if out.Len() != 0 {
			t.Errorf("written before Flush: %s", &out)
		}
		if err := tel.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var doc struct{ N int64 }
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.N != add {
			t.Errorf("flushed %s (%v), want n %d", &out, err, add)
		}
		out.Reset()
	}
}

// A recorded age is published once. An event of another source, or one that fails before anything is read, must not
// publish it again.
func TestFlush_LambdaAgesAreOfTheirInvocation(t *testing.T) {
	var out bytes.Buffer
	tel := start(t, telemetry.Options{Environ: env(t), Lambda: true, Writer: &out})
	k := instrument.New(tel.Meter, "test")
	age := k.Gauge("tablewake.handler.age", "s", "age of the oldest record")
	if err := k.Err(); err != nil {
		t.Fatal(err)
	}
	age.Record(t.Context(), 10800, metric.WithAttributes(attribute.String("source", "dynamodb")))
	for range 3 {
		if err := tel.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "10800"); n != 1 {
		t.Errorf("it is published %d times, want once: %s", n, &out)
	}
}

// Values that could not be flushed in time are in the next flush or in the one at the shutdown. An observer that fails
// does not affect the other values.
func TestFlush_LambdaLosesNoCounts(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	tel := start(t, telemetry.Options{Environ: env(t), Lambda: true, Writer: &out})
	n, _ := tel.Meter.Meter("test").Int64Counter("n")
	n.Add(t.Context(), 3)
	if err := tel.Flush(over); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("out of time %q is written, %v", &out, err)
	}
	n.Add(t.Context(), 4)
	_, err := tel.Meter.Meter("test").Int64ObservableGauge("broken", metric.WithInt64Callback(func(context.Context, metric.Int64Observer) error {
		return io.ErrUnexpectedEOF
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := tel.Flush(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(out.String(), `"n":7`) {
		t.Errorf("written %q, %v; want n 7", &out, err)
	}
	out.Reset()
	n.Add(t.Context(), 5)
	_ = tel.Shutdown(over)
	if !strings.Contains(out.String(), `"n":5`) {
		t.Errorf("at the end %q is written, want n 5", &out)
	}
}

// With OTLP, a failed export loses nothing, because the next export has the totals.
func TestFlush_LambdaTotalsByOTLP(t *testing.T) {
	var refuse atomic.Bool
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		if refuse.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	tel := start(t, telemetry.Options{Environ: env(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.URL), Metrics: config.MetricsOTLP, Lambda: true})
	n, _ := tel.Meter.Meter("test").Int64Counter("n")
	for i, add := range []int64{3, 4} {
		refuse.Store(i == 0)
		c.body.Reset()
		n.Add(t.Context(), add)
		if err := tel.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// as_int of a point is 7
	if seven := []byte{6<<3 | 1, 7, 0, 0, 0, 0, 0, 0, 0}; !bytes.Contains(c.body.Bytes(), seven) {
		t.Errorf("after an export of 3 that failed and 4 more there is no 7 in %q", c.body.Bytes())
	}
}

// collector receives metrics and traces by OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	paths map[string]int
	body  bytes.Buffer
}

func newCollector(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *collector {
	t.Helper()
	c := &collector{paths: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.paths[r.URL.Path]++
		c.body.Write(body)
		c.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func TestFlush_SendsSpansAndMetrics(t *testing.T) {
	c := newCollector(t, func(http.ResponseWriter, *http.Request) {})
	tel := start(t, telemetry.Options{Version: "v1.2.3", Environ: env(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL,
		"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=blue", "AWS_LAMBDA_FUNCTION_NAME", "fn-of-the-test")})
	_, span := tel.Tracer.Tracer("test").Start(t.Context(), "a-span")
	span.End()
	n, _ := tel.Meter.Meter("test").Int64Counter("a-counter")
	n.Add(t.Context(), 1)
	if err := tel.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.paths["/v1/traces"] != 1 || c.paths["/v1/metrics"] != 1 {
		t.Errorf("sent %v", c.paths)
	}
	for _, want := range []string{"a-span", "a-counter", "service.name", "shop", "v1.2.3", "blue", "fn-of-the-test", "telemetry.sdk.language"} {
		if !bytes.Contains(c.body.Bytes(), []byte(want)) {
			t.Errorf("what was sent does not say %s", want)
		}
	}
}

func TestResource_ServiceNameOfTheEnvironmentWins(t *testing.T) {
	c := newCollector(t, func(http.ResponseWriter, *http.Request) {})
	tel := start(t, telemetry.Options{Environ: env(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_SERVICE_NAME", "named-by-hand")})
	_, span := tel.Tracer.Tracer("test").Start(t.Context(), "a-span")
	span.End()
	if err := tel.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(c.body.Bytes(), []byte("named-by-hand")) || bytes.Contains(c.body.Bytes(), []byte("shop")) {
		t.Errorf("the resource is not named by OTEL_SERVICE_NAME: %q", c.body.Bytes())
	}
}

// A collector that refuses or does not answer is logged and causes no error. Flush and Shutdown return within a limited
// time.
func TestFlush_NobodyListens(t *testing.T) {
	hang := make(chan struct{})
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"hangs":   func(_ http.ResponseWriter, r *http.Request) { <-hang },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, answer)
			var log bytes.Buffer
			var mu sync.Mutex
			tel := start(t, telemetry.Options{Environ: env(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.URL), Metrics: config.MetricsOTLP, Lambda: true,
				Patience: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
			n, _ := tel.Meter.Meter("test").Int64Counter("a-counter")
			n.Add(t.Context(), 1)
			for range 3 {
				if err := tel.Flush(t.Context()); err != nil {
					t.Errorf("a collector that %s is an error: %v", name, err)
				}
			}
			_ = tel.Shutdown(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if lines := strings.Count(log.String(), "metrics are not exported"); lines != 1 {
				t.Errorf("%d lines of the log tell of it, want 1: %s", lines, &log)
			}
			if name == "hangs" {
				close(hang)
			}
		})
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// On Lambda, X-Ray's header is read. W3C's header is read everywhere. OTEL_PROPAGATORS overrides both.
func TestPropagator(t *testing.T) {
	xray := propagation.MapCarrier{"X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"}
	w3c := propagation.MapCarrier{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	for _, test := range []struct {
		lambda    bool
		env       []string
		xray, w3c bool
	}{
		{true, nil, true, true},
		{false, nil, false, true},
		{false, []string{"OTEL_PROPAGATORS", "xray"}, true, false},
		{true, []string{"OTEL_PROPAGATORS", " none "}, false, false},
	} {
		p := start(t, telemetry.Options{Environ: env(t, test.env...), Lambda: test.lambda, Metrics: config.MetricsNone}).Propagator
		for _, c := range []struct {
			carrier propagation.MapCarrier
			want    bool
		}{{xray, test.xray}, {w3c, test.w3c}} {
			if got := trace.SpanContextFromContext(p.Extract(t.Context(), c.carrier)).IsValid(); got != c.want {
				t.Errorf("lambda %v, %v: %v is understood: %v", test.lambda, test.env, c.carrier, got)
			}
		}
	}
}

// A scrape returns totals while EMF documents hold increments. Both end at the shutdown.
func TestScrape_BesideAnExporter(t *testing.T) {
	for _, metrics := range []config.Metrics{config.MetricsEMF, config.MetricsNone} {
		var out bytes.Buffer
		scrape := sdkmetric.NewManualReader()
		tel := start(t, telemetry.Options{Environ: env(t), Metrics: metrics, Scrape: scrape, Writer: &out})
		if want := "metrics " + map[config.Metrics]string{config.MetricsEMF: "as EMF", config.MetricsNone: "none"}[metrics] + ", traces none"; tel.String() != want {
			t.Errorf("%s, want %s", tel, want)
		}
		n, err := tel.Meter.Meter("test").Int64Counter("n")
		if err != nil {
			t.Fatal(err)
		}
		for total := int64(2); total < 7; total += 2 {
			n.Add(t.Context(), 2)
			if err := tel.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			var rm metricdata.ResourceMetrics
			if err := scrape.Collect(t.Context(), &rm); err != nil {
				t.Fatal(err)
			}
			if sum := rm.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]); sum.DataPoints[0].Value != total {
				t.Errorf("%s: a scrape has %d, want %d", metrics, sum.DataPoints[0].Value, total)
			}
		}
		if documents := strings.Count(out.String(), `"n":2`); documents != map[config.Metrics]int{config.MetricsEMF: 3}[metrics] {
			t.Errorf("%s: %d documents: %s", metrics, documents, &out)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := scrape.Collect(t.Context(), &metricdata.ResourceMetrics{}); !errors.Is(err, sdkmetric.ErrReaderShutdown) {
			t.Errorf("%s: after the end: %v", metrics, err)
		}
	}
}
