package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
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

// callWrite is one call of the sink's Write. It fills errs, or returns an error that
// fails all of ds.
func (r *route) callWrite(ctx context.Context, ds []Delivery, errs []error) (batchErr error) {
	defer func() {
		if v := recover(); v != nil {
			batchErr = recovered(r.stage, v)
		}
		if ctx.Err() == nil { // a Write that was cut short says nothing of the sink
			batchErr = r.patience.takeAll(batchErr, errs)
			r.health.update(batchErr, errs)
		}
	}()
	err := r.Sink.Write(ctx, ds)
	partial, ok := errors.AsType[*BatchError](err)
	if err != nil && !ok {
		return err
	}
	clear(errs)
	if partial != nil {
		for i, err := range partial.Failed {
			if i < 0 || i >= len(ds) {
				return fmt.Errorf("the sink's BatchError names delivery %d of %d: %w", i, len(ds), cmp.Or(err, errNoCause))
			}
			errs[i] = cmp.Or(err, errNoCause)
		}
	}
	for i := range ds {
		if o := ds[i].Outcome; errs[i] == nil && (o == DeadLettered || o >= Quarantined) {
			errs[i] = badOutcome(o)
		}
	}
	return nil
}

// badOutcome is an outcome that no sink may set.
func badOutcome(o Outcome) error {
	return errs.Errorf("the sink set the outcome %s, which is the pipeline's to set", redact.Safe(o.String()))
}

var errNoCause = errs.New("the sink gave no cause")

// retries tells whether a delivery that failed with err is tried again.
func (r *route) retries(err error) bool {
	if !r.hasDeadLetters {
		return true
	}
	if _, panicked := errors.AsType[*redact.PanicError](err); panicked {
		return false
	}
	_, ok := Retryable(err)
	return ok
}

// classOf is the dead-letter class of a Write's error.
func classOf(err error) string {
	if _, ok := errors.AsType[*redact.PanicError](err); ok {
		return classPanic
	}
	return classWrite
}

// newestTime is the creation time of the newest change that a stage is done with.
type newestTime struct{ nanos atomic.Int64 }

func (n *newestTime) update(t time.Time) {
	if t.IsZero() {
		return
	}
	for at := t.UnixNano(); ; {
		old := n.nanos.Load()
		if at <= old || n.nanos.CompareAndSwap(old, at) {
			return
		}
	}
}

// lag is how far the stage is behind now; false before the first change.
func (n *newestTime) lag(now time.Time) (time.Duration, bool) {
	at := n.nanos.Load()
	if at == 0 {
		return 0, false
	}
	return now.Sub(time.Unix(0, at)), true
}
