package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// route is a Route with its defaults and its state.
type route struct {
	Route
	stage         string // for errors: `sink "orders"`
	filters       []filterStage
	planner       Planner // the sink; nil if it is not a Planner
	keepsOrder    bool
	guarded       bool
	ignoresEvents bool         // the sink uses no events
	sortedWriter  SortedWriter // the sink; nil if it is not a SortedWriter
	ledger        SinkLedger
	newest        time.Time // newest creation time of the changes that were finished; zero: none yet
	health        health
	denials       DenialTracker // of Writes and Flushes
	tel           *sinkTelemetry
	arenas        arenaPool
	scratch       scratchPool
}

func newRoute(o Route) *route {
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Batch.Count = cmp.Or(o.Batch.Count, 500)
	o.Batch.Bytes = cmp.Or(o.Batch.Bytes, 4<<20)
	r := &route{Route: o, stage: fmt.Sprintf("sink %q", o.Name)}
	r.filters = nameFilters(o.Filters, fmt.Sprintf(" of route %q", o.Name))
	r.planner, _ = o.Sink.(Planner)
	if k, ok := o.Sink.(KeyOrderer); ok {
		r.keepsOrder = k.KeepsKeyOrder()
	}
	if g, ok := o.Sink.(Guarded); ok {
		r.guarded = g.Guarded()
	}
	if i, ok := o.Sink.(EventIgnorer); ok {
		r.ignoresEvents = i.IgnoresEvents()
	}
	if w, ok := o.Sink.(SortedWriter); ok && r.keepsOrder && r.guarded && r.ignoresEvents {
		r.sortedWriter = w
	}
	r.ledger = SinkLedger{NoEffect: map[string]int64{}, RouteFiltered: map[string]int64{}}
	return r
}

// Route describes a sink and the changes that it receives.
type Route struct {
	Name        string
	Sink        Sink
	Filters     []Filter // filters of this route; they run after the filters of the source. Default: none
	NeedsEvents bool     // a change for which a detector fails is a permanent failure at this route
	Concurrency int      // Writes in flight. Default: 4
	Batch       Batch
	Rate        float64 // deliveries a second. Default (0): unlimited
	// Suppress, if set, is the reason why planned deliveries are not written, for example "replay". Their outcome is
	// Suppressed. Default: deliveries are written
	Suppress string
}

// check returns an error for the first field that is out of range. live is Options.Live.
func (r *Route) check(live bool) error {
	b := r.Batch
	if r.Concurrency < 0 || r.Rate < 0 || b.Count < 0 || b.Bytes < 0 || b.Linger < 0 {
		return errors.New("Concurrency, Rate, Batch.Count, Batch.Bytes and Batch.Linger must not be negative")
	}
	waitsTooLong := b.Linger > MaxLinger || b.Fill && b.Linger == 0
	if live && waitsTooLong {
		return fmt.Errorf("a batch of a Live pipeline waits for %v at most: set Batch.Linger", MaxLinger)
	}
	if i := slices.Index(r.Filters, nil); i >= 0 {
		return fmt.Errorf("Filters[%d] is nil", i)
	}
	return nil
}

// Batch limits one Write: a batch is full when it has Count deliveries, or when the next one would exceed Bytes. A
// single larger delivery is written alone.
//
// Without Linger and Fill, a free writer takes the deliveries that are available, and does not wait. With Linger, it
// waits up to that long for the batch to be full. With Fill and no Linger, it waits without a limit. Either wait also
// ends when the source ends or stops, or when the source calls Drain (see [Control]). It ends early if memory is full
// and nothing else can make progress, or if it keeps a partition of a [Pauser] from being read.
//
// With Fill, no Linger, Concurrency 1 and a sink that is a [KeyOrderer], the batches depend on the input alone. If no
// delivery fails, a replay of the same pages has the same batches, in the order of the source. The speed of the source
// and of the sink does not matter.
type Batch struct {
	Count  int           // number of deliveries. Default: 500
	Bytes  int64         // raw bytes of records. Default: 4 MiB
	Linger time.Duration // from the arrival of the first delivery. Default (0): see Fill
	Fill   bool          // write full batches only. Default: write what is available
}

// MaxLinger is how long a batch of a pipeline that is Live may wait to be full. The wait is limited because the
// checkpoint cannot pass the waiting changes. After a crash, the stream may have dropped records that come after the
// checkpoint.
const MaxLinger = time.Hour
