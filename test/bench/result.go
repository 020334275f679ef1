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

// report is a run in the form of the results file.
type report struct {
	Date    string   `json:"date"`
	Machine string   `json:"machine"` // name of the processor
	Cores   int      `json:"cores"`
	System  string   `json:"system"`
	Go      string   `json:"go"`
	Peers   []string `json:"peers"` // modules of the peers with their versions
	Records []size   `json:"records"`
	Rows    []result `json:"rows"`

	rounds int
}

// size has the average size of the records of a shape.
type size struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`  // average of a record in a GetRecords answer
	Lambda int    `json:"lambda"` // average of a record in a Lambda event
	Note   string `json:"note"`
}

// result is the result of a row.
type result struct {
	ID      string `json:"id"`
	Variant string `json:"variant,omitempty"`
	Work    string `json:"work"`
	Against string `json:"against"`
	Unit    string `json:"unit"`
	Rounds  int    `json:"rounds"`

	Ours  spread  `json:"ours"`
	Peer  spread  `json:"peer"`
	Ratio float64 `json:"ratio"` // median of ours divided by the median of the peer

	Least float64 `json:"least,omitempty"` // the least ratio that meets the budget
	Most  float64 `json:"most,omitempty"`  // the highest ratio that meets the budget

	OursAllocs *float64 `json:"ours_allocs,omitempty"` // for each record
	PeerAllocs *float64 `json:"peer_allocs,omitempty"` // for each record
	MostAllocs *float64 `json:"most_allocs,omitempty"` // budget of ours, for each record

	Note   string `json:"note,omitempty"`
	missed string // why the row misses its budget, according to the row
}

// spread has the minimum, median and maximum of one side's rounds.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// spreadOf returns the spread of rounds. The median of an even number of rounds is the mean of the two in the middle.
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

// meetsRatio reports whether the ratio is within this share of its budget.
func (r result) meetsRatio(share float64) bool {
	return (r.Least == 0 || r.Ratio >= r.Least*share) && (r.Most == 0 || r.Ratio <= r.Most/share)
}

// meetsAllocations reports whether ours allocates no more than allowed. The share of a budget does not apply to
// allocations.
func (r result) meetsAllocations() bool {
	return r.MostAllocs == nil || r.OursAllocs != nil && *r.OursAllocs <= *r.MostAllocs
}

// shortfall returns why the result misses its budget, or "" if the result does not miss it.
func (r result) shortfall() string {
	if r.meetsRatio(1) && r.meetsAllocations() {
		return ""
	}
	return cmp.Or(r.missed, "unexplained")
}

// hold returns an error if the result breaks its budget.
func (r result) hold(share float64) error {
	switch {
	case !r.meetsRatio(share):
		return fmt.Errorf("%s: the ratio is %.3g, and the budget %s (held to a share of %.3g)", r.name(), r.Ratio, r.budget(), share)
	case r.MostAllocs != nil && r.OursAllocs == nil:
		return fmt.Errorf("%s: its allocations were not counted", r.name())
	case !r.meetsAllocations():
		return fmt.Errorf("%s: %.3g allocations a record, and the budget %.3g", r.name(), *r.OursAllocs, *r.MostAllocs)
	}
	return nil
}

// budget returns the budget as the table shows it.
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
