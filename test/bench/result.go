package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// report is a run, as the results file has it.
type report struct {
	Date    string   `json:"date"`
	Machine string   `json:"machine"` // the processor
	Cores   int      `json:"cores"`
	System  string   `json:"system"`
	Go      string   `json:"go"`
	Peers   []string `json:"peers"` // modules with their versions
	Records []size   `json:"records"`
	Rows    []result `json:"rows"`

	rounds int
}

// size is how large the records of a shape are.
type size struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`  // of a record in a GetRecords answer, on average
	Lambda int    `json:"lambda"` // of a record in a Lambda event, on average
	Note   string `json:"note"`
}

// result is what a row came to.
type result struct {
	ID      string `json:"id"`
	Variant string `json:"variant,omitempty"`
	Work    string `json:"work"`
	Against string `json:"against"`
	Unit    string `json:"unit"`
	Rounds  int    `json:"rounds"`

	Ours  spread  `json:"ours"`
	Peer  spread  `json:"peer"`
	Ratio float64 `json:"ratio"` // of the medians, ours over the peer's

	Least float64 `json:"least,omitempty"` // budget of the ratio
	Most  float64 `json:"most,omitempty"`  // the same

	OursAllocs *float64 `json:"ours_allocs,omitempty"` // a record
	PeerAllocs *float64 `json:"peer_allocs,omitempty"` // a record
	MostAllocs *float64 `json:"most_allocs,omitempty"` // budget of ours

	Note   string `json:"note,omitempty"`
	missed string // why, where the budget is not met: the row says so
}

// spread is what the rounds of one side came to.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// spreadOf sums rounds up. The median of an even number is the mean of the two in the middle.
func spreadOf(rounds []float64) spread {
	s := slices.Sorted(slices.Values(rounds))
	n := len(s)
	if n == 0 {
		return spread{}
	}
	return spread{s[0], (s[(n-1)/2] + s[n/2]) / 2, s[n-1]}
}

func newReport(rounds int) *report {
	return &report{
		Date: time.Now().UTC().Format(time.DateOnly), Machine: processor(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Peers: peers(), rounds: rounds,
	}
}

func newResult(r row, c *contest) result {
	note := r.note
	if c.note != "" && note != "" {
		note += "; "
	}
	return result{
		ID: r.id, Variant: r.variant, Work: r.work, Against: r.peer, Unit: r.of.unit,
		Least: r.least, Most: r.most, MostAllocs: r.allocs, Note: note + c.note, missed: r.missed,
	}
}

func (r result) name() string { return row{id: r.ID, variant: r.Variant}.name() }

// met reports whether the ratio is within its budget, loosened to a share of it.
func (r result) met(share float64) bool {
	return (r.Least == 0 || r.Ratio >= r.Least*share) && (r.Most == 0 || r.Ratio <= r.Most/share)
}

// lean reports whether ours allocates no more than allowed. No share applies to that.
func (r result) lean() bool {
	return r.MostAllocs == nil || r.OursAllocs != nil && *r.OursAllocs <= *r.MostAllocs
}

// shortfall says why the result misses its budget, "" where it does not.
func (r result) shortfall() string {
	if r.met(1) && r.lean() {
		return ""
	}
	return cmp.Or(r.missed, "unexplained")
}

// hold is an error where the result breaks its budget.
func (r result) hold(share float64) error {
	switch {
	case !r.met(share):
		return fmt.Errorf("%s: the ratio is %.3g, and the budget %s (held to a share of %.3g)", r.name(), r.Ratio, r.budget(), share)
	case r.MostAllocs != nil && r.OursAllocs == nil:
		return fmt.Errorf("%s: its allocations were not counted", r.name())
	case !r.lean():
		return fmt.Errorf("%s: %.3g allocations a record, and the budget %.3g", r.name(), *r.OursAllocs, *r.MostAllocs)
	}
	return nil
}

// budget is the budget as the table shows it.
func (r result) budget() string {
	switch {
	case r.Least > 0:
		return fmt.Sprintf("≥ %g", r.Least)
	case r.Most > 0:
		return fmt.Sprintf("≤ %g", r.Most)
	}
	return ""
}

func (r *report) write(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

func readReport(file string) (*report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range r.Rows {
		for _, row := range rows() {
			if row.name() == r.Rows[i].name() {
				r.Rows[i].missed = row.missed
			}
		}
	}
	return &r, nil
}
