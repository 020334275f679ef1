package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/telemetry/emf"
)

// world is a meter provider whose metrics are exported as documents.
type world struct {
	t      testing.TB
	out    *lines
	reader *sdkmetric.PeriodicReader
	meter  metric.Meter
	schema *jsonschema.Schema
}

// lines keeps the bytes of each Write.
type lines struct{ all [][]byte }

func (l *lines) Write(p []byte) (int, error) {
	l.all = append(l.all, bytes.Clone(p))
	return len(p), nil
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, out: &lines{}}
	x, err := emf.New(emf.Options{Writer: w.out, Pipeline: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	w.reader = sdkmetric.NewPeriodicReader(x)
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	w.meter = p.Meter("test")
	if w.schema, err = jsonschema.NewCompiler().Compile("testdata/emf.schema.json"); err != nil {
		t.Fatal(err)
	}
	return w
}

// document is a document that was written.
type document struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	members map[string]any
}

// export returns the documents of one export, after checking each against the schema.
func (w *world) export() []document {
	w.t.Helper()
	w.out.all = nil
	if err := w.reader.ForceFlush(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	var docs []document
	for _, line := range w.out.all {
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
			w.t.Errorf("a Write is not one line: %s", line)
		}
		if len(line) > 256<<10 {
			w.t.Errorf("a document has %d bytes", len(line))
		}
		whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			w.t.Fatalf("%v in %s", err, line)
		}
		if err := w.schema.Validate(whole); err != nil {
			w.t.Errorf("%v\n%s", err, line)
		}
		var d document
		if err := json.Unmarshal(line, &d); err != nil {
			w.t.Fatal(err)
		}
		if err := json.Unmarshal(line, &d.members); err != nil {
			w.t.Fatal(err)
		}
		for _, m := range d.AWS.CloudWatchMetrics[0].Metrics {
			if _, ok := d.members[m.Name]; !ok {
				w.t.Errorf("the document names %s and has no such member: %s", m.Name, line)
			}
		}
		for _, dim := range d.AWS.CloudWatchMetrics[0].Dimensions[0] {
			if v, _ := d.members[dim].(string); v == "" {
				w.t.Errorf("the dimension %s has no value: %s", dim, line)
			}
		}
		docs = append(docs, d)
	}
	return docs
}

// values returns the metrics of documents by "name unit dimensions".
func values(docs []document) map[string]any {
	out := map[string]any{}
	for _, d := range docs {
		at := ""
		for _, dim := range d.AWS.CloudWatchMetrics[0].Dimensions[0] {
			at += fmt.Sprintf(" %s=%v", dim, d.members[dim])
		}
		for _, m := range d.AWS.CloudWatchMetrics[0].Metrics {
			out[m.Name+" "+m.Unit+at] = d.members[m.Name]
		}
	}
	return out
}

func of(kv ...string) metric.MeasurementOption {
	var attrs []attribute.KeyValue
	for i := 0; i < len(kv); i += 2 {
		attrs = append(attrs, attribute.String(kv[i], kv[i+1]))
	}
	return metric.WithAttributes(attrs...)
}

// A metric has two dimension sets. For attributes that are not dimensions, counts are added up, and the greatest age
// and the least time left are published.
func TestExport_DimensionsAndAggregation(t *testing.T) {
	w := newWorld(t)
	letters, _ := w.meter.Int64Counter("tablewake.sink.letters", metric.WithUnit("{delivery}"))
	lag, _ := w.meter.Float64Gauge("tablewake.lag", metric.WithUnit("s"))
	loss, _ := w.meter.Float64Gauge("tablewake.reader.loss", metric.WithUnit("h"))
	pending, _ := w.meter.Int64Gauge("tablewake.sink.pending", metric.WithUnit("{delivery}"))
	bytes, _ := w.meter.Int64Gauge("tablewake.inflight.bytes", metric.WithUnit("By"))
	cost, _ := w.meter.Float64Counter("tablewake.aws.cost", metric.WithUnit("{USD}"))
	ctx := t.Context()
	letters.Add(ctx, 2, of("pipeline", "shop", "sink", "a", "class", "plan"))
	letters.Add(ctx, 3, of("pipeline", "shop", "sink", "a", "class", "write"))
	letters.Add(ctx, 5, of("pipeline", "shop", "sink", "b", "class", "write"))
	letters.Add(ctx, 7, of("pipeline", "shop", "class", "undecodable")) // has no sink
	lag.Record(ctx, 1.5, of("pipeline", "shop", "stage", "read"))
	lag.Record(ctx, 7, of("pipeline", "shop", "stage", "sink", "sink", "a"))
	lag.Record(ctx, 3, of("pipeline", "shop", "stage", "sink", "sink", "b"))
	loss.Record(ctx, 23, of("pipeline", "shop", "table", "x"))
	loss.Record(ctx, 4, of("pipeline", "shop", "table", "y"))
	pending.Record(ctx, 10, of("pipeline", "shop", "sink", "a"))
	pending.Record(ctx, 20, of("pipeline", "shop", "sink", "b"))
	bytes.Record(ctx, 64) // has no pipeline
	cost.Add(ctx, 0.25, of("service", "s3"))
	got := values(w.export())
	want := map[string]any{
		"tablewake.sink.letters Count pipeline=shop": 17., "tablewake.sink.letters Count pipeline=shop sink=a": 5., "tablewake.sink.letters Count pipeline=shop sink=b": 5.,
		"tablewake.lag Seconds pipeline=shop": 7., "tablewake.lag Seconds pipeline=shop sink=a": 7., "tablewake.lag Seconds pipeline=shop sink=b": 3.,
		"tablewake.reader.loss None pipeline=shop":   4.,
		"tablewake.sink.pending Count pipeline=shop": 30., "tablewake.sink.pending Count pipeline=shop sink=a": 10., "tablewake.sink.pending Count pipeline=shop sink=b": 20.,
		"tablewake.inflight.bytes Bytes pipeline=shop": 64.,
		"tablewake.aws.cost None pipeline=shop":        0.25,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("published\n%v, want\n%v", got, want)
	}
}

// A counter is published as the increment since the last export, whatever the kind of its instrument.
func TestExport_CountersAreDeltas(t *testing.T) {
	w := newWorld(t)
	n, _ := w.meter.Int64Counter("n")
	total := int64(0)
	_, err := w.meter.Int64ObservableCounter("o", metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(total)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i, add := range []int64{3, 4} {
		n.Add(t.Context(), add)
		total += add
		got := values(w.export())
		for _, name := range []string{"n None pipeline=shop", "o None pipeline=shop"} {
			if got[name] != float64(add) {
				t.Errorf("export %d: %s is %v, want %d", i, name, got[name], add)
			}
		}
	}
}

// A recorded gauge is published once. An observed gauge is measured at each export.
func TestExport_GaugesAreOfTheirMoment(t *testing.T) {
	w := newWorld(t)
	age, _ := w.meter.Float64Gauge("age", metric.WithUnit("s"))
	_, err := w.meter.Float64ObservableGauge("lag", metric.WithUnit("s"), metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
		o.Observe(3)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	age.Record(t.Context(), 7, of("source", "dynamodb"))
	for i, want := range []string{"map[age Seconds pipeline=shop:7 lag Seconds pipeline=shop:3]", "map[lag Seconds pipeline=shop:3]"} {
		if got := fmt.Sprint(values(w.export())); got != want {
			t.Errorf("export %d: published %s, want %s", i, got, want)
		}
	}
}

// The values of a histogram lie in its buckets, between the least and the greatest measured value. Values that JSON
// cannot hold are left out.
func TestExport_Histograms(t *testing.T) {
	w := newWorld(t)
	h, _ := w.meter.Float64Histogram("h", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 2, 4))
	g, _ := w.meter.Float64Gauge("g")
	for _, v := range []float64{0.5, 1.5, 1.5, 9, 7} {
		h.Record(t.Context(), v, of("sink", "a"))
	}
	g.Record(t.Context(), math.NaN())
	got := values(w.export())
	want := "map[Count:5 Counts:[1 2 2] Max:9 Min:0.5 Sum:19.5 Values:[0.75 1.5 6.5]]"
	for _, name := range []string{"h Seconds pipeline=shop", "h Seconds pipeline=shop sink=a"} {
		if fmt.Sprint(got[name]) != want {
			t.Errorf("%s is %v, want %s", name, got[name], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("published %v", got)
	}
}

// For any number of metrics, sinks and buckets, each document is within the limits and no value is lost.
func TestExport_WithinLimits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		counters, sinks := rapid.IntRange(0, 230).Draw(r, "counters"), rapid.IntRange(1, 3).Draw(r, "sinks")
		for i := range counters {
			c, _ := w.meter.Int64Counter(fmt.Sprintf("c%d", i), metric.WithUnit("{x}"))
			for s := range sinks {
				c.Add(t.Context(), 1, of("sink", fmt.Sprint(s)))
			}
		}
		bounds := rapid.SliceOfNDistinct(rapid.Float64Range(-1e6, 1e6), 0, 300, rapid.ID[float64]).Draw(r, "bounds")
		slices.Sort(bounds)
		h, _ := w.meter.Float64Histogram("h", metric.WithExplicitBucketBoundaries(bounds...))
		measured := rapid.SliceOfN(rapid.Float64Range(-2e6, 2e6), 1, 400).Draw(r, "measured")
		for _, v := range measured {
			h.Record(t.Context(), v)
		}
		got := values(w.export())
		if want := counters*(sinks+1) + 1; len(got) != want {
			r.Fatalf("%d metrics published, want %d", len(got), want)
		}
		hist, _ := got["h None pipeline=shop"].(map[string]any)
		n := 0.
		for i, count := range hist["Counts"].([]any) {
			n += count.(float64)
			if v := hist["Values"].([]any)[i].(float64); v < hist["Min"].(float64) || v > hist["Max"].(float64) {
				r.Fatalf("the value %v is not between %v and %v", v, hist["Min"], hist["Max"])
			}
		}
		if n != float64(len(measured)) || hist["Count"] != n || hist["Min"] != slices.Min(measured) || hist["Max"] != slices.Max(measured) {
			r.Fatalf("of %d measurements: %v", len(measured), hist)
		}
	})
}

func TestNew_Options(t *testing.T) {
	for _, o := range []emf.Options{{}, {Writer: os.Stdout}} {
		if x, err := emf.New(o); err == nil || x != nil || !strings.HasPrefix(err.Error(), "emf: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// If the writer fails, the export returns an error.
func TestExport_Errors(t *testing.T) {
	x, err := emf.New(emf.Options{Writer: broken{}, Pipeline: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Export(t.Context(), one()); err == nil {
		t.Error("a broken writer is no error")
	}
}

// Collected values are written even after the deadline, because no other copy exists.
func TestExport_OutOfTime(t *testing.T) {
	var out bytes.Buffer
	x, err := emf.New(emf.Options{Writer: &out, Pipeline: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Export(ctx, one()); err != nil || !strings.Contains(out.String(), `"n":1`) {
		t.Errorf("written %q, %v", &out, err)
	}
}

// one returns a metric n with the value 1.
func one() *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "n", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 1}}}},
	}}}}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }
