package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// The table of README.md and the chart are those of the results file.
func TestPublished(t *testing.T) {
	r, err := readReport("results.json")
	if err != nil {
		t.Fatal(err)
	}
	const how = "run `go -C test/bench run . chart`"
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := replaceSection(readme, r.markdown()); err != nil || !bytes.Equal(readme, want) {
		t.Errorf("the table of README.md is not that of results.json: %s (%v)", how, err)
	}
	drawn, err := os.ReadFile("chart.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn, r.svg()) {
		t.Errorf("chart.svg is not that of results.json: %s", how)
	}
}

// The results file has the existing rows with their budgets.
func TestResults(t *testing.T) {
	r, err := readReport("results.json")
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine == "" || r.Cores == 0 || r.Go == "" || r.Date == "" || len(r.Peers) == 0 || len(r.Records) != 5 {
		t.Errorf("it lacks what it was measured on: %+v", r)
	}
	there := rows()
	for _, want := range there {
		if want.budgeted() && !want.servers && !slices.ContainsFunc(r.Rows, func(got result) bool { return got.name() == want.name() }) {
			t.Errorf("%s: it has a budget, and no result: run `go -C test/bench run . -servers -o results.json`", want.name())
		}
	}
	for _, got := range r.Rows {
		i := slices.IndexFunc(there, func(r row) bool { return r.name() == got.name() })
		if i < 0 {
			t.Errorf("%s: there is no such row", got.name())
			continue
		}
		want := there[i]
		if want.id == "valid" && want.least > 0 && (got.Least == 0.85 || got.Least == 1) {
			want.least = got.Least // the budget depends on the processor
		}
		if got.Least != want.least || got.Most != want.most || (got.MostAllocs == nil) != (want.allocs == nil) || got.MostAllocs != nil && *got.MostAllocs != *want.allocs {
			t.Errorf("%s: its budget is another than the row's", got.name())
		}
		if math.Abs(got.Ratio-got.Ours.Median/got.Peer.Median) > 1e-9*got.Ratio {
			t.Errorf("%s: the ratio is %v, and that of the medians %v", got.name(), got.Ratio, got.Ours.Median/got.Peer.Median)
		}
		for _, s := range []spread{got.Ours, got.Peer} {
			if s.Min <= 0 || s.Min > s.Median || s.Median > s.Max {
				t.Errorf("%s: %+v is no spread", got.name(), s)
			}
		}
	}
}

func example() *report {
	return &report{
		Date: "2026-11-21", Machine: "A <fast> Processor", Cores: 4, System: "linux/amd64", Go: "go1.26.1",
		Records: []size{{"usual", 1400, 1500, "an order"}},
		Rows: []result{
			{ID: "event", Work: "decode", Against: "peer & co", Unit: "records/s", Ours: spread{1, 500_000, 9}, Peer: spread{1, 10_000, 2}, Ratio: 50, Least: 40, OursAllocs: new(0.1), MostAllocs: new(1.0)},
			{ID: "event", Variant: "large", Work: "decode", Against: "peer", Unit: "records/s", Ratio: 30},
			{ID: "cel", Work: "filter", Against: "without", Unit: "ns/record", Ours: spread{1, 2500, 9}, Peer: spread{1, 2000, 2}, Ratio: 1.25, Most: 1.2, missed: "the garbage"},
		},
	}
}

func TestSection(t *testing.T) {
	text, err := replaceSection([]byte("before\n"+readmeBegin+"old\n"+readmeEnd+"after\n"), "new\n")
	if want := "before\n" + readmeBegin + "new\n" + readmeEnd + "after\n"; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	for _, text := range []string{"no markers", readmeBegin, readmeEnd, readmeEnd + readmeBegin} {
		if _, err := replaceSection([]byte(text), "new\n"); err == nil {
			t.Errorf("%q has a place for a section", text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	text := example().markdown()
	for _, want := range []string{
		"| `event` | decode | peer & co | 500,000 records/s, 0.1 allocations | 10,000 | 50.0 | ≥ 40 |\n",
		"| `cel` | filter | without | 2,500 ns/record | 2,000 | 1.25 | ≤ 1.2 |\n",
		"A <fast> Processor, 4 cores, linux/amd64, go1.26.1, 2026-11-21",
		"usual, 1,400 bytes (an order)",
		"\nBelow budget:\n\n- `cel`: the garbage.\n\nRecords",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "large") {
		t.Errorf("it has a row without a budget:\n%s", text)
	}
}

// The chart is XML. It has one bar and one mark for each row with a budget. Rows that miss their budget have another
// colour.
func TestChart(t *testing.T) {
	drawn := example().svg()
	classes := map[string]int{}
	var text strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, drawn)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "class" {
					classes[a.Value]++
				}
			}
		case xml.CharData:
			text.Write(token)
		}
	}
	if classes["bar"] != 1 || classes["missed"] != 1 || classes["budget"] != 2 {
		t.Errorf("bars and marks: %v", classes)
	}
	for _, want := range []string{"event", "cel", "peer & co", "without", "A <fast> Processor", "2026-11-21", "50.0 x", "prefers-color-scheme: dark"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it lacks %q", want)
		}
	}
}
