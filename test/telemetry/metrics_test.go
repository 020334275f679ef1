package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
	"github.com/tablewake/tablewake/pipeline/telemetry/emf"
)

// shape describes the points of a metric, or the spans of a name.
type shape struct {
	kind, unit string
	points     int
	attributes map[string]int // number of points with the attribute
}

func (s *shape) add(set []attribute.KeyValue) {
	s.points++
	for _, kv := range set {
		s.attributes[string(kv.Key)]++
	}
}

// split separates the attributes of all points from the attributes of only some points.
func (s *shape) split() (always, sometimes []string) {
	for _, name := range slices.Sorted(maps.Keys(s.attributes)) {
		if s.attributes[name] == s.points {
			always = append(always, name)
		} else {
			sometimes = append(sometimes, name)
		}
	}
	return always, sometimes
}

// shapes returns the shapes of metrics, by name.
func shapes(t *testing.T, all []metricdata.ResourceMetrics) map[string]*shape {
	t.Helper()
	seen := map[string]*shape{}
	for _, rm := range all {
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Description == "" {
					t.Errorf("%s has no description", m.Name)
				}
				s := seen[m.Name]
				if s == nil {
					s = &shape{unit: m.Unit, attributes: map[string]int{}}
					seen[m.Name] = s
				}
				switch d := m.Data.(type) {
				case metricdata.Sum[int64]:
					of(s, "counter", d.DataPoints)
				case metricdata.Sum[float64]:
					of(s, "counter", d.DataPoints)
				case metricdata.Gauge[int64]:
					of(s, "gauge", d.DataPoints)
				case metricdata.Gauge[float64]:
					of(s, "gauge", d.DataPoints)
				case metricdata.Histogram[int64]:
					s.kind = "histogram"
					for _, p := range d.DataPoints {
						s.add(p.Attributes.ToSlice())
					}
				case metricdata.Histogram[float64]:
					s.kind = "histogram"
					for _, p := range d.DataPoints {
						s.add(p.Attributes.ToSlice())
					}
				}
			}
		}
	}
	return seen
}

func of[N int64 | float64](s *shape, kind string, points []metricdata.DataPoint[N]) {
	s.kind = kind
	for _, p := range points {
		s.add(p.Attributes.ToSlice())
	}
}

// The page lists exactly the metrics that are emitted, with their kinds, units and attributes.
func TestMetrics_AreDocumented(t *testing.T) {
	metrics, _ := emitted(t)
	table, seen := metricsTable(t), shapes(t, metrics)
	for name, s := range seen {
		always, sometimes := s.split()
		d, ok := table[name]
		switch {
		case !ok:
			t.Errorf("%s is emitted, and %s does not say so", name, metricsPage)
		case d.kind != s.kind || d.unit != s.unit:
			t.Errorf("%s is a %s in %s, and the page says %s in %s", name, s.kind, s.unit, d.kind, d.unit)
		case !slices.Equal(d.always, always) || !slices.Equal(d.sometimes, sometimes):
			t.Errorf("%s has the attributes %v, and sometimes %v; the page says %v, and sometimes %v", name, always, sometimes, d.always, d.sometimes)
		}
	}
	for name := range table {
		if seen[name] == nil {
			t.Errorf("%s says %s, and nothing emits it", metricsPage, name)
		}
	}
}

// Our spans are those of the page.
func TestSpans_AreDocumented(t *testing.T) {
	_, spans := emitted(t)
	seen := map[string]*shape{}
	for _, span := range spans {
		s := seen[span.Name]
		if s == nil {
			s = &shape{attributes: map[string]int{}}
			seen[span.Name] = s
		}
		s.add(span.Attributes)
	}
	checkLinks(t, spans)
	for _, row := range rows(section(t, "Spans")) {
		name := strings.Trim(row[0], "`")
		if !strings.HasPrefix(name, "tablewake.") {
			continue
		}
		s := seen[name]
		if s == nil {
			t.Errorf("%s says %s, and nothing emits it", metricsPage, name)
			continue
		}
		delete(seen, name)
		always, sometimes := s.split()
		var says []string
		for _, a := range strings.Split(row[2], ", ") {
			says = append(says, strings.Trim(a, "[]"))
		}
		has := slices.Concat(always, sometimes)
		slices.Sort(says)
		slices.Sort(has)
		if !slices.Equal(has, says) {
			t.Errorf("%s has the attributes %v, the page says %v", name, has, says)
		}
	}
	for name := range seen {
		t.Errorf("%s is emitted, and %s does not say so", name, metricsPage)
	}
}

// checkLinks checks that every Write is linked to the pages of its changes.
func checkLinks(t *testing.T, spans tracetest.SpanStubs) {
	t.Helper()
	pages := map[string]bool{}
	for _, s := range spans {
		pages[s.SpanContext.SpanID().String()] = s.Name == "tablewake.page"
	}
	for _, s := range spans {
		if s.Name == "tablewake.write" && len(s.Links) == 0 {
			t.Error("a Write is linked to no page")
		}
		for _, l := range s.Links {
			if !pages[l.SpanContext.SpanID().String()] {
				t.Errorf("a %s is linked to what is no page", s.Name)
			}
		}
	}
}

// In CloudWatch every metric has the dimension pipeline. Metrics of sinks have the dimension sink as well.
func TestEMF_HasEveryMetric(t *testing.T) {
	metrics, _ := emitted(t)
	var out bytes.Buffer
	x, err := emf.New(emf.Options{Writer: &out, Pipeline: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range metrics {
		if err := x.Export(t.Context(), &metrics[i]); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(out.Bytes()) {
		var d struct {
			AWS struct {
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, c := range d.AWS.CloudWatchMetrics {
			for _, m := range c.Metrics {
				seen[c.Namespace+" "+m.Name+" "+fmt.Sprint(c.Dimensions)] = true
			}
		}
	}
	want := map[string]bool{}
	for name, d := range metricsTable(t) {
		want["tablewake "+name+" [[pipeline]]"] = true
		if slices.Contains(slices.Concat(d.always, d.sometimes), "sink") {
			want["tablewake "+name+" [[pipeline sink]]"] = true
		}
	}
	if !maps.Equal(seen, want) {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !seen[name] {
				t.Errorf("not in CloudWatch: %s", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(seen)) {
			if !want[name] {
				t.Errorf("in CloudWatch, and nobody said so: %s", name)
			}
		}
	}
}

// The prices on the page are those that the estimate uses.
func TestPrices_AreDocumented(t *testing.T) {
	var want []string
	for _, p := range cost.Prices() {
		want = append(want, fmt.Sprintf("%s %s %.6g %.0f %s ([source](%s))", p.Service, p.Unit, p.Dollars*p.ListedUnits, p.ListedUnits, p.Definition, p.Source))
	}
	var got []string
	for _, row := range rows(section(t, "What calls of AWS cost")) {
		n, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %.6g %s %s", strings.Trim(row[0], "`"), strings.Trim(row[1], "`"), n, row[3], row[4]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page says\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
