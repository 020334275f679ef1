package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The generated section of README.md is between these lines.
const (
	readmeBegin = "<!-- made by `go -C test/bench run . chart` from results.json -->\n"
	readmeEnd   = "<!-- end of what is made -->\n"
)

// chart makes the table of README.md, and chart.svg, from the results file in dir.
func chart(dir, readme string) error {
	r, err := readReport(filepath.Join(dir, "results.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "chart.svg"), r.svg(), 0o644); err != nil {
		return err
	}
	old, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	text, err := replaceSection(old, r.markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	return os.WriteFile(readme, text, 0o644)
}

// replaceSection puts section between the markers.
func replaceSection(text []byte, section string) ([]byte, error) {
	head, rest, ok := bytes.Cut(text, []byte(readmeBegin))
	_, tail, ended := bytes.Cut(rest, []byte(readmeEnd))
	if !ok || !ended {
		return nil, fmt.Errorf("it lacks the line %q or, behind it, %q", strings.TrimSpace(readmeBegin), strings.TrimSpace(readmeEnd))
	}
	return bytes.Join([][]byte{head, []byte(readmeBegin + section + readmeEnd), tail}, nil), nil
}

// behind is the heading of the list of rows that miss their budget.
const behind = "\nBelow budget:\n\n"

// markdown returns the section of README.md, with the rows that have a budget.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("![Ours beside the peers, one bar a row](chart.svg)\n\n")
	fmt.Fprintf(&b, "%s:\n\n", r.caption())
	b.WriteString("| row | work | against | ours | peer | ratio | budget |\n|---|---|---|--:|--:|--:|--:|\n")
	for _, row := range r.Rows {
		if row.budget() == "" {
			continue
		}
		ours := figure(row.Ours.Median) + " " + row.Unit
		if row.OursAllocs != nil && row.MostAllocs != nil {
			ours += ", " + few(*row.OursAllocs) + " allocations"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", row.name(), row.Work, row.Against, ours, figure(row.Peer.Median), ratio(row.Ratio), row.budget())
	}
	for _, row := range r.Rows {
		if why := row.shortfall(); row.budget() != "" && why != "" {
			if !strings.Contains(b.String(), behind) {
				b.WriteString(behind)
			}
			fmt.Fprintf(&b, "- `%s`: %s.\n", row.name(), why)
		}
	}
	fmt.Fprintf(&b, "\nRecords: %s.\n", r.recordsText())
	return b.String()
}

// caption returns what the figures were measured on.
func (r *report) caption() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, %s", r.Machine, r.Cores, r.System, r.Go, r.Date)
}

func (r *report) recordsText() string {
	var all []string
	for _, s := range r.Records {
		all = append(all, fmt.Sprintf("%s, %s bytes (%s)", s.Name, figure(float64(s.Bytes)), s.Note))
	}
	return strings.Join(all, "; ")
}
