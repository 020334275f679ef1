package telemetry

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// received has everything that a collector wrote.
type received struct {
	raw       []byte
	resources map[string]map[string]string // attributes by signal
	numbers   map[string]float64           // last value by name and attributes; the count of a histogram
	spans     []span
}

type span struct {
	TraceID, SpanID, ParentSpanID string

	Kind       int
	Name       string
	Links      []struct{ SpanID string }
	Attributes attributes
}

type attributes []struct {
	Key   string
	Value struct{ StringValue, IntValue *string }
}

func (a attributes) texts() map[string]string {
	m := map[string]string{}
	for _, kv := range a {
		switch {
		case kv.Value.StringValue != nil:
			m[kv.Key] = *kv.Value.StringValue
		case kv.Value.IntValue != nil:
			m[kv.Key] = *kv.Value.IntValue
		}
	}
	return m
}

type points struct {
	DataPoints []struct {
		Attributes attributes
		AsInt      *string
		AsDouble   *float64
		Count      *string
	}
}

// line is an export request of OTLP in JSON.
type line struct {
	ResourceMetrics []struct {
		Resource     struct{ Attributes attributes }
		ScopeMetrics []struct {
			Metrics []struct {
				Name                  string
				Sum, Gauge, Histogram points
			}
		}
	}
	ResourceSpans []struct {
		Resource   struct{ Attributes attributes }
		ScopeSpans []struct{ Spans []span }
	}
}

// read reads the file of a collector.
func read(t *testing.T, file string) received {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := received{raw: raw, resources: map[string]map[string]string{}, numbers: map[string]float64{}}
	for text := range bytes.Lines(raw) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%v in %.200s", err, text)
		}
		for _, rm := range l.ResourceMetrics {
			r.resources["metrics"] = rm.Resource.Attributes.texts()
			for _, scope := range rm.ScopeMetrics {
				for _, m := range scope.Metrics {
					for _, p := range slices.Concat(m.Sum.DataPoints, m.Gauge.DataPoints, m.Histogram.DataPoints) {
						r.numbers[series(m.Name, p.Attributes.texts())] = number(t, p.AsInt, p.Count, p.AsDouble)
					}
				}
			}
		}
		for _, rs := range l.ResourceSpans {
			r.resources["traces"] = rs.Resource.Attributes.texts()
			for _, scope := range rs.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}
	return r
}

// number returns the value of a point. OTLP's JSON has integers as text.
func number(t *testing.T, asInt, count *string, asDouble *float64) float64 {
	t.Helper()
	switch {
	case asDouble != nil:
		return *asDouble
	case asInt == nil:
		asInt = count
	}
	if asInt == nil {
		t.Fatal("a point without a value")
	}
	n, err := strconv.ParseFloat(*asInt, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// series returns the name of a metric with its attributes in order.
func series(name string, attrs map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		name += " " + k + "=" + attrs[k]
	}
	return name
}

// total adds up the series of a metric that have all of the attributes.
func (r received) total(name string, attrs ...string) (sum float64, there bool) {
	for s, v := range r.numbers {
		fields := strings.Fields(s)
		if fields[0] != name || slices.ContainsFunc(attrs, func(a string) bool { return !slices.Contains(fields, a) }) {
			continue
		}
		sum, there = sum+v, true
	}
	return sum, there
}
