package main

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// row is one line of the table: ours beside a peer.
type row struct {
	id      string
	variant string // "" for the row that has the budget; else what is different, printed beside
	work    string // that both sides do
	peer    string // what ours is compared with, with its version
	of      quantity

	// The budget of ratio, that of ours over the peer's: one of them. 0: there is none.
	least, most float64
	// The most allocations of a record that ours may make, exactly. nil: no limit.
	allocs *float64
	// The share of its budget that the row reaches, if it is known not to reach all: -check requires only that share.
	// 0: all
	reaches float64

	cores   int  // GOMAXPROCS while it runs. 0: 1; -1: all
	rounds  int  // at most. 0: as many as requested
	servers bool // it needs real servers
	input   bool // it takes the records of -input
	note    string
	missed  string // where the budget is not met: what the profile shows, and what was tried

	// open makes the sides ready. It does the work of both once, and holds what
	// they found against each other.
	open func(ctx context.Context, b *bench) (*contest, error)
}

// name tells a row from all others.
func (r row) name() string {
	if r.variant == "" {
		return r.id
	}
	return r.id + ", " + r.variant
}

// share is the share of its budget that the row is held to.
func (r row) share(of float64) float64 { return of * cmp.Or(r.reaches, 1) }

// budgeted reports whether the row has a budget.
func (r row) budgeted() bool { return r.least > 0 || r.most > 0 || r.allocs != nil }

// contest is both sides of a row.
type contest struct {
	ours, peer side
	note       string       // what is known only now, beside the row's
	close      func() error // nil: there is nothing to close
}

// side is one of two that do the same work.
type side struct {
	// run does it for one round.
	run func(ctx context.Context) (sample, error)
	// allocs are the allocations of a record, exactly. nil: not counted.
	allocs func(ctx context.Context) (float64, error)
}

// sample is what one round took. Where the row's quantity has no use for a field it is zero.
type sample struct {
	records   int
	processor time.Duration // of all threads
	wall      time.Duration
	bytes     int64 // resident, or in flight
}

// quantity is what of a sample a row compares.
type quantity struct {
	unit string
	of   func(sample) float64
}

var (
	// rate is records for each second of processor time.
	rate = quantity{"records/s", func(s sample) float64 { return float64(s.records) / s.processor.Seconds() }}
	// wallRate is records for each second on the clock.
	wallRate = quantity{"records/s", func(s sample) float64 { return float64(s.records) / s.wall.Seconds() }}
	// cost is the processor time of a record, for rows that must not get dearer.
	cost = quantity{"ns/record", func(s sample) float64 { return float64(s.processor.Nanoseconds()) / float64(s.records) }}
	// memory is megabytes.
	memory = quantity{"MB", func(s sample) float64 { return float64(s.bytes) / 1e6 }}
)

// missing is the error of a row whose peer is not on this machine.
type missing struct {
	what string // to install
}

func (m *missing) Error() string { return fmt.Sprintf("not measured: install %s", m.what) }

// rows are all that is measured, in the order of the table.
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
