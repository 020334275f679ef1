package promql

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// sample is a line of a scrape.
type sample struct {
	labels labels.Labels
	value  float64
}

// scraped returns what Prometheus reads from a page that the package pipeline/telemetry/prometheus wrote.
func scraped(t *testing.T, name string) (types map[string]model.MetricType, samples []sample) {
	t.Helper()
	page, err := os.ReadFile(tree + "pipeline/telemetry/prometheus/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := textparse.New(page, "text/plain; version=0.0.4; charset=utf-8", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	types = map[string]model.MetricType{}
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return types, samples
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		case entry == textparse.EntryType:
			family, kind := p.Type()
			if _, ok := types[string(family)]; ok {
				t.Errorf("%s: %s has two types", name, family)
			}
			types[string(family)] = kind
		case entry == textparse.EntrySeries:
			var s sample
			p.Labels(&s.labels)
			_, _, s.value = p.Series()
			samples = append(samples, s)
		}
	}
}

// A scrape has the metrics of the page, with the names and labels that Prometheus' OTLP receiver gives them.
func TestScrape_NamesAsByOTLP(t *testing.T) {
	types, samples := scraped(t, "metrics.txt")
	all := metrics(t)
	seen := map[string]bool{}
	for _, s := range samples {
		name := s.labels.Get(model.MetricNameLabel)
		if name == "target_info" {
			continue
		}
		m, known := all[name]
		if !known {
			t.Errorf("the scrape has %s, and OTLP does not", name)
			continue
		}
		seen[name] = true
		var have []string
		s.labels.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel {
				have = append(have, l.Name)
			}
		})
		if want := slices.Sorted(slices.Values(m.labels)); !slices.Equal(have, want) {
			t.Errorf("%s has the labels %v, want %v", name, have, want)
		}
		family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if types[name] == "" && types[family] != model.MetricTypeHistogram {
			t.Errorf("%s has no type", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !seen[name] {
			t.Errorf("the scrape does not have %s", name)
		}
	}
}

// Odd values and texts pass a scrape unchanged.
func TestScrape_OddMetrics(t *testing.T) {
	types, samples := scraped(t, "odd.txt")
	values, texts := map[string]float64{}, map[float64]string{}
	seen := map[string]bool{}
	for _, s := range samples {
		if seen[s.labels.String()] {
			t.Errorf("%s is there twice", s.labels)
		}
		seen[s.labels.String()] = true
		switch s.labels.Get(model.MetricNameLabel) {
		case "texts":
			texts[s.value] = s.labels.Get("t")
		case "values":
			values[s.labels.Get("n")] = s.value
		}
	}
	if want := map[float64]string{1: "a \"quote\", a \\ and\na line", 2: "not UTF-8 \uFFFD", 3: "Grüße {x=\"y\"}", 4: ""}; !maps.Equal(texts, want) {
		t.Errorf("the texts are %v", texts)
	}
	if n := values["1"]; n == n || values["2"] <= 1e300 || values["3"] >= -1e300 || values["4"] != 1e21 || values["5"] != -0.5 || values["6"] != 12345678 {
		t.Errorf("the values are %v", values)
	}
	if types["no_bounds_bytes"] != model.MetricTypeHistogram || types["up_and_down_ratio"] != model.MetricTypeGauge {
		t.Errorf("the types are %v", types)
	}
}
