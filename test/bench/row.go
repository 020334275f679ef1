package main

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// row is one line of the table. It compares ours with a peer.
type row struct {
	id      string
	variant string // "" for the row with the budget; else the difference from that row, which the table shows
	work    string // the work of both sides
	peer    string // the peer, with its version
	of      quantity

	// The budget of the ratio of ours to the peer. At most one of the two is set. 0: no budget.
	least, most float64
	// The most allocations for each record that ours may make. nil: no limit.
	allocs *float64
	// The share of the budget that the row reaches, if the row is known to miss the budget. -check requires only this
	// share. 0: the whole budget.
	reaches float64

	cores   int  // GOMAXPROCS while the row runs. 0: 1; -1: all
	rounds  int  // the most rounds. 0: as many as requested
	servers bool // the row needs real servers
	input   bool // the row takes the records of -input
	note    string
	missed  string // why the row misses its budget: what the profile shows, and what was tried

	// open prepares both sides. It lets both do the work once, and compares their results.
	open func(ctx context.Context, b *bench) (*contest, error)
}

// name returns the name of the row. Each row has a different name.
func (r row) name() string {
	if r.variant == "" {
		return r.id
	}
	return r.id + ", " + r.variant
}

// share returns the share of its budget that the row must reach.
func (r row) share(of float64) float64 { return of * cmp.Or(r.reaches, 1) }

// budgeted reports whether the row has a budget.
func (r row) budgeted() bool { return r.least > 0 || r.most > 0 || r.allocs != nil }

// fits reports whether the row is measured with these flags, if they name no rows.
func (r row) fits(o options) bool {
	lacksServers := r.servers && !o.servers
	ignoresInput := o.input != "" && !r.input
	isLeftOut := o.short && !r.budgeted()
	return !lacksServers && !ignoresInput && !isLeftOut
}

// contest has both sides of a row.
type contest struct {
	ours, peer side
	note       string       // known only after open; the table shows it after the row's note
	close      func() error // nil: there is nothing to close
}

// side is one of two sides that do the same work.
type side struct {
	// run does the work of one round.
	run func(ctx context.Context) (sample, error)
	// allocs returns the exact number of allocations for each record. nil: not counted.
	allocs func(ctx context.Context) (float64, error)
}

// sample is what one round took. Fields that the quantity of the row does not use are zero.
type sample struct {
	records   int
	processor time.Duration // processor time of all threads
	wall      time.Duration
	bytes     int64 // bytes that are resident or in flight
}

// quantity is the value of a sample that a row compares.
type quantity struct {
	unit string
	of   func(sample) float64
}

var (
	// rate is the number of records for each second of processor time.
	rate = quantity{"records/s", func(s sample) float64 { return float64(s.records) / s.processor.Seconds() }}
	// wallRate is the number of records for each second on the clock.
	wallRate = quantity{"records/s", func(s sample) float64 { return float64(s.records) / s.wall.Seconds() }}
	// cost is the processor time of a record, for rows that must not become slower.
	cost = quantity{"ns/record", func(s sample) float64 { return float64(s.processor.Nanoseconds()) / float64(s.records) }}
	// memory is the number of megabytes.
	memory = quantity{"MB", func(s sample) float64 { return float64(s.bytes) / 1e6 }}
)

// missing is the error of a row whose peer is missing on this machine.
type missing struct {
	what string // what to install
}

func (m *missing) Error() string { return fmt.Sprintf("not measured: install %s", m.what) }

// rows returns all rows, in the order of the table.
func rows() []row {
	var all []row
	for _, some := range [][]row{
		eventRows(), validRows(), pageRows(), diffRows(), decodeRows(), jsonRows(), celRows(), handlerRows(), powertoolsRows(), consumeRows(), pipelineRows(), entitiesRows(), backfillRows(), processesRows(), auditRows(), coresRows(), residentRows(), flightRows(),
		growthRecordsRows(), growthShardsRows(), growthReaderRows(), growthAttributesRows(), sinkRows(),
	} {
		all = append(all, some...)
	}
	return all
}
