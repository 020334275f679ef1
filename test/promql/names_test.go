package promql

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/otlptranslator"
)

const tree = "../../"

// metric is a metric of the page, with the name that Prometheus gives it.
type metric struct {
	documented string
	labels     []string
	alarm      bool // the page says when to worry
}

// metrics returns the metrics of the page. A histogram has three series.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	page, err := os.ReadFile(tree + "pipeline/telemetry/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "\n## Metrics\n")
	part, _, _ = strings.Cut(part, "\n## ")
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	all := map[string]metric{}
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| `tablewake.") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		m := metric{documented: strings.Trim(cells[0], "`"), alarm: cells[5] != ""}
		for _, a := range strings.Split(cells[3], ", ") {
			m.labels = append(m.labels, strings.Trim(a, "[]"))
		}
		kind, suffixes := otlptranslator.MetricType(otlptranslator.MetricTypeGauge), []string{""}
		switch cells[1] {
		case "counter":
			kind = otlptranslator.MetricTypeMonotonicCounter
		case "histogram":
			kind, suffixes = otlptranslator.MetricTypeHistogram, []string{"_bucket", "_sum", "_count"}
		}
		name, err := namer.Build(otlptranslator.Metric{Name: m.documented, Unit: cells[2], Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range suffixes {
			of := m
			if s == "_bucket" {
				of.labels = append(slices.Clone(m.labels), "le")
			}
			all[name+s] = of
		}
	}
	if len(all) < 30 {
		t.Fatalf("the page has %d metrics", len(all))
	}
	return all
}

// Prometheus' names are those of the examples on the page.
func TestNames_AsThePageSays(t *testing.T) {
	all := metrics(t)
	for _, name := range []string{
		"tablewake_reader_lag_seconds", "tablewake_sink_letters_total", "tablewake_reader_contact_ratio", "tablewake_reader_loss_hours",
		"tablewake_reader_bytes_total", "tablewake_inflight_bytes", "tablewake_aws_cost_total", "tablewake_sink_pending", "tablewake_write_duration_seconds_bucket",
	} {
		if _, ok := all[name]; !ok {
			t.Errorf("no metric becomes %s", name)
		}
	}
}
