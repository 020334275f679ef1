package prometheus_test

import (
	"bytes"
	"context"
	"flag"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/tablewake/tablewake/pipeline/telemetry/prometheus"
)

// update rewrites the page that test/promql parses with Prometheus' own parser.
var update = flag.Bool("update", false, "rewrite testdata/metrics.txt")

// golden compares a page with a file.
func golden(t *testing.T, name, page string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(want) {
		t.Errorf("the page is not %s (-update rewrites it):\n%s", file, page)
	}
}

// Write writes each metric of METRICS.md with all its attributes.
func TestWrite_EveryMetric(t *testing.T) {
	doc, err := os.ReadFile("../METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []metricdata.Metrics
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.HasPrefix(cells[1], " `tablewake.") || !strings.Contains(cells[4], "pipeline") {
			continue
		}
		var attributes []attribute.KeyValue
		for name := range strings.SplitSeq(cells[4], ",") {
			attributes = append(attributes, attribute.String(strings.Trim(name, " []"), "x"))
		}
		set := attribute.NewSet(attributes...)
		m := metricdata.Metrics{Name: strings.Trim(cells[1], " `"), Unit: strings.TrimSpace(cells[3]), Description: "of METRICS.md"}
		switch kind := strings.TrimSpace(cells[2]); kind {
		case "counter":
			m.Data = metricdata.Sum[int64]{IsMonotonic: true, Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Value: 7}}}
		case "gauge":
			m.Data = metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Attributes: set, Value: 0.25}}}
		case "histogram":
			m.Data = metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{
				{Attributes: set, Count: 6, Sum: 4.5, Bounds: []float64{0.5, 1}, BucketCounts: []uint64{1, 2, 3}},
			}}
		default:
			t.Errorf("%s is a %s", m.Name, kind)
		}
		all = append(all, m)
	}
	if len(all) < 30 {
		t.Fatalf("METRICS.md has %d metrics", len(all))
	}
	golden(t, "metrics.txt", page(all...))
}

func page(all ...metricdata.Metrics) string {
	var b bytes.Buffer
	prometheus.Write(&b, &metricdata.ResourceMetrics{
		Resource:     resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", "v1.2.3")),
		ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: all}},
	})
	return b.String()
}

// Texts are escaped, numbers are in the Prometheus format, and each series appears once.
func TestWrite_OddMetrics(t *testing.T) {
	gauge := func(name, unit string, points ...metricdata.DataPoint[float64]) metricdata.Metrics {
		return metricdata.Metrics{Name: name, Unit: unit, Description: "a \\ and\na line", Data: metricdata.Gauge[float64]{DataPoints: points}}
	}
	point := func(v float64, kv ...attribute.KeyValue) metricdata.DataPoint[float64] {
		return metricdata.DataPoint[float64]{Attributes: attribute.NewSet(kv...), Value: v}
	}
	golden(t, "odd.txt", page(
		gauge("values", "{x}", point(math.NaN(), attribute.Int("n", 1)), point(math.Inf(1), attribute.Int("n", 2)), point(math.Inf(-1), attribute.Int("n", 3)),
			point(1e21, attribute.Int("n", 4)), point(-0.5, attribute.Int("n", 5)), point(12345678, attribute.Int("n", 6))),
		gauge("texts", "", point(1, attribute.String("t", "a \"quote\", a \\ and\na line")), point(2, attribute.String("t", "not UTF-8 \xff")),
			point(3, attribute.String("t", "Grüße {x=\"y\"}")), point(4)),
		gauge("attribute.names", "", point(1, attribute.String("a.b", "1"), attribute.String("a-b", "2"), attribute.String("7", "3"))),
		gauge("7.starts_with-a digit", "", point(1)),
		gauge("total.total", "%", point(1)),
		gauge("twice", "", point(1)), gauge("twice", "", point(2), point(3, attribute.Bool("other", true))),
		metricdata.Metrics{Name: "twice", Data: metricdata.Histogram[int64]{DataPoints: []metricdata.HistogramDataPoint[int64]{{Count: 1}}}},
		metricdata.Metrics{Name: "no.bounds", Unit: "By", Data: metricdata.Histogram[int64]{DataPoints: []metricdata.HistogramDataPoint[int64]{{Count: 2, Sum: 9, BucketCounts: []uint64{2}}}}},
		metricdata.Metrics{Name: "up.and.down", Unit: "1", Data: metricdata.Sum[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: -3}}}},
		metricdata.Metrics{Name: "exponential", Data: metricdata.ExponentialHistogram[int64]{DataPoints: []metricdata.ExponentialHistogramDataPoint[int64]{{Count: 1}}}},
		metricdata.Metrics{Name: "empty", Data: metricdata.Gauge[int64]{}},
	))
}

// A scrape returns the totals since the start.
func TestServeHTTP(t *testing.T) {
	x := prometheus.New()
	if code, text := scrape(x); code != http.StatusInternalServerError || !strings.Contains(text, "there are no metrics") {
		t.Errorf("without a provider: %d %s", code, text)
	}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(x), sdkmetric.WithResource(resource.Empty()))
	n, err := p.Meter("test").Int64Counter("n", metric.WithUnit("By"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# TYPE n_bytes_total counter\nn_bytes_total 2\n", "# TYPE n_bytes_total counter\nn_bytes_total 4\n"} {
		n.Add(t.Context(), 2)
		if code, text := scrape(x); code != http.StatusOK || text != want {
			t.Errorf("%d %q, want %q", code, text, want)
		}
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if code, _ := scrape(x); code != http.StatusInternalServerError {
		t.Errorf("after the end: %d", code)
	}
}

func scrape(x *prometheus.Exporter) (code int, text string) {
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code == http.StatusOK && w.Header().Get("Content-Type") != prometheus.ContentType {
		return w.Code, "the content type is " + w.Header().Get("Content-Type")
	}
	return w.Code, w.Body.String()
}
