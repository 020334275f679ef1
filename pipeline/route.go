package pipeline

import (
	"cmp"
	"fmt"
	"time"
)

// route is a Route with its defaults, and what it has counted.
type route struct {
	Route
	stage          string // for errors: `sink "orders"`
	filters        []filterStage
	planner        Planner // nil where the sink has none
	keepsOrder     bool
	guarded        bool
	ignoresEvents  bool         // the sink looks at no events
	sortedWriter   SortedWriter // nil where the sink is none
	hasDeadLetters bool         // permanent failures go to dead letters
	ledger         SinkLedger
	newest         newestTime
	health         health
	patience       Patience // with refusals of its Writes and Flushes
	tel            *sinkTelemetry
	arenas         arenaPool
	scratch        scratchPool
}

func newRoute(o Route, letters bool) *route {
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Batch.Count = cmp.Or(o.Batch.Count, 500)
	o.Batch.Bytes = cmp.Or(o.Batch.Bytes, 4<<20)
	r := &route{Route: o, stage: fmt.Sprintf("sink %q", o.Name), hasDeadLetters: letters}
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
	r.ledger = SinkLedger{NoEffect: map[string]int64{}, Dropped: map[string]int64{}}
	return r
}

// Route is the way to one sink.
type Route struct {
	Name        string
	Sink        Sink
	Filters     []Filter // of this route alone, after the source's. Default: none
	NeedsEvents bool     // a detector's error is this route's too
	Concurrency int      // Writes in flight. Default: 4
	Batch       Batch
	Rate        float64 // deliveries a second. Default (0): unlimited
	Suppress    string  // plan every delivery and write none: its outcome is Suppressed, for this reason ("replay"). Default (""): write
}

// Batch bounds one Write: a batch is full when it has Count deliveries, or when the next one would pass Bytes. A single
// larger delivery passes alone.
//
// A free writer takes what is there at once. With Linger, it waits that long for the batch to be full; with Fill and no
// Linger it waits without a limit. Either wait also ends when the source ends or stops, when the pipeline is at its
// bounds and nothing else can move, and when it is what keeps a partition of a [Pauser] from being read.
//
// With Fill, no Linger, Concurrency 1 and a sink that is a [KeyOrderer], batches are cut by the input alone: as long as
// no delivery fails, replaying the same pages brings the same batches in the order of the source, however fast either
// side is.
type Batch struct {
	Count  int           // deliveries. Default: 500
	Bytes  int64         // raw bytes of records. Default: 4 MiB
	Linger time.Duration // from the first delivery waiting. Default (0): see Fill
	Fill   bool          // write full batches only. Default: write what is there
}

// MaxLinger is how long a batch of a pipeline that is Live may wait to be full. The changes in it hold the checkpoint
// back, and a stream drops what stays unread after a crash.
const MaxLinger = time.Hour
