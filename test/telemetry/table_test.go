package telemetry

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const metricsPage = "../../pipeline/telemetry/METRICS.md"

// documented is a metric as the page describes it.
type documented struct {
	kind, unit string
	always     []string // attributes of every point
	sometimes  []string
}

// section returns the part of the page below a heading of the second level.
func section(t *testing.T, title string) string {
	t.Helper()
	b, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("%s has no %s", metricsPage, title)
	}
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

// rows returns the cells of a table's rows, without the header.
func rows(part string) [][]string {
	var all [][]string
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all[min(2, len(all)):]
}

// metricsTable returns the metrics in the table of the page.
func metricsTable(t *testing.T) map[string]documented {
	t.Helper()
	table := map[string]documented{}
	for _, row := range rows(section(t, "Metrics")) {
		d := documented{kind: row[1], unit: row[2]}
		for _, a := range strings.Split(row[3], ", ") {
			if name, some := strings.CutPrefix(a, "["); some {
				d.sometimes = append(d.sometimes, strings.TrimSuffix(name, "]"))
			} else {
				d.always = append(d.always, a)
			}
		}
		slices.Sort(d.always)
		slices.Sort(d.sometimes)
		table[strings.Trim(row[0], "`")] = d
	}
	if len(table) < 30 {
		t.Fatalf("%s has %d metrics", metricsPage, len(table))
	}
	return table
}
