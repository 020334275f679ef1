package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// route is a Route with its defaults, and what it has counted.
type route struct {
	Route
	stage      string // for errors: `sink "orders"`
	filters    []filterStage
	planner    Planner // nil where the sink has none
	keepsOrder bool
	guarded    bool
	eventless  bool         // the sink looks at no events
	sorted     SortedWriter // nil where the sink is none
	letters    bool         // permanent failures go to dead letters
	ledger     SinkLedger
	newest     newest
	health     health
	patience   Patience // with refusals of its Writes and Flushes
	tel        *sinkTelemetry
	slabs      slabs
	arenas     arenaPool
	spares     spares
}

func newRoute(o Route, letters bool) *route {
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Batch.Count = cmp.Or(o.Batch.Count, 500)
	o.Batch.Bytes = cmp.Or(o.Batch.Bytes, 4<<20)
	r := &route{Route: o, stage: fmt.Sprintf("sink %q", o.Name), letters: letters}
	r.filters = nameFilters(o.Filters, fmt.Sprintf(" of route %q", o.Name))
	r.planner, _ = o.Sink.(Planner)
	if k, ok := o.Sink.(KeyOrderer); ok {
		r.keepsOrder = k.KeepsKeyOrder()
	}
	if g, ok := o.Sink.(Guarded); ok {
		r.guarded = g.Guarded()
	}
	if i, ok := o.Sink.(EventIgnorer); ok {
		r.eventless = i.IgnoresEvents()
	}
	if w, ok := o.Sink.(SortedWriter); ok && r.keepsOrder && r.guarded && r.eventless {
		r.sorted = w
	}
	r.ledger = SinkLedger{NoEffect: map[string]int64{}, Dropped: map[string]int64{}}
	return r
}

// planAgain plans the deliveries that were cloned since their plan. If a plan fails, nothing of the batch is tried:
// the failed change must be the first of its key again. It returns false then.
func (r *route) planAgain(b *batch) bool {
	failed := false
	for i := range b.items {
		if it := &b.items[i]; it.unplanned {
			it.unplanned = false
			it.fail = r.plan(&it.d)
			failed = failed || it.fail != nil
		}
	}
	if failed {
		for range b.items {
			b.errs = append(b.errs, errHeldBack)
		}
	}
	return !failed
}

// write gives a batch to the sink and leaves each delivery's error in b.errs.
func (r *route) write(n *run, b *batch) {
	if err := n.takeOutQuarantined(r, b); err != nil {
		for range b.items {
			b.errs = append(b.errs, err)
		}
		if IsFatal(err) {
			n.fail(fmt.Errorf("%s: %w", r.stage, err))
		}
		return
	}
	if len(b.items) == 0 {
		return
	}
	for i := range b.items {
		b.ds = append(b.ds, b.items[i].d)
	}
	b.errs = slices.Grow(b.errs, len(b.ds))[:len(b.ds)]
	ctx, done := r.tel.write(b.ctx, b)
	start := time.Now()
	whole := r.call(ctx, b.ds, b.errs)
	if whole != nil {
		r.isolate(ctx, n, b, whole)
	}
	failed := 0
	for _, err := range b.errs {
		if err == nil {
			continue
		}
		failed++
		if IsFatal(err) && classOf(err) != classPanic {
			n.fail(fmt.Errorf("%s: %w", r.stage, err))
		}
	}
	done(time.Since(start), failed)
}

// isolate deals with an error that failed a Write as a whole. A transient one is
// everyone's. A panic, or a permanent error of several deliveries, has a culprit:
// each is written once more by itself. Behind a delivery that fails then and comes
// again, or holds its key, the key's later ones are held back.
func (r *route) isolate(ctx context.Context, n *run, b *batch, whole error) {
	_, panicked := errors.AsType[*PanicError](whole)
	_, retry := Retryable(whole)
	if ctx.Err() != nil || !panicked && (retry || IsFatal(whole) || len(b.ds) == 1) {
		for i := range b.errs {
			b.errs[i] = whole
		}
		return
	}
	for i := range b.items {
		if slices.ContainsFunc(b.of[:i], func(l *lane) bool { return l == b.of[i] && l.skipped }) {
			b.errs[i] = errHeldBack
			continue
		}
		if ctx.Err() != nil || b.items[i].page.part.over.Load() {
			b.errs[i] = errHeldBack
			continue
		}
		b.ds[i] = b.items[i].d
		if err := r.call(ctx, b.ds[i:i+1:i+1], b.errs[i:i+1]); err != nil {
			b.errs[i] = err
		}
		b.of[i].skipped = b.errs[i] != nil && (r.retried(b.errs[i]) || n.quarantines(r, classWrite))
	}
	for _, l := range b.lanes {
		l.skipped = false
	}
}

// errHeldBack is the error of a delivery that was not tried, because an earlier
// one of its key failed.
var errHeldBack = Transient(errs.New("held back behind an earlier change of its key"))

// call is one call of the sink's Write. It fills errs, or returns an error that
// fails all of ds.
func (r *route) call(ctx context.Context, ds []Delivery, errs []error) (whole error) {
	defer func() {
		if v := recover(); v != nil {
			whole = recovered(r.stage, v)
		}
		if ctx.Err() == nil { // a Write that was cut short says nothing of the sink
			whole = r.patience.takeAll(whole, errs)
			r.health.see(whole, errs)
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
	return errs.Errorf("the sink set the outcome %s, which is the pipeline's to set", o)
}

var errNoCause = errs.New("the sink gave no cause")

// retried tells whether a delivery that failed with err is tried again.
func (r *route) retried(err error) bool {
	if !r.letters {
		return true
	}
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		return false
	}
	_, ok := Retryable(err)
	return ok
}

// classOf is the dead-letter class of a Write's error.
func classOf(err error) string {
	if _, ok := errors.AsType[*PanicError](err); ok {
		return classPanic
	}
	return classWrite
}

// newest is the creation time of the newest change that a stage is done with.
type newest struct{ nanos atomic.Int64 }

func (n *newest) see(t time.Time) {
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
func (n *newest) lag(now time.Time) (time.Duration, bool) {
	at := n.nanos.Load()
	if at == 0 {
		return 0, false
	}
	return now.Sub(time.Unix(0, at)), true
}
