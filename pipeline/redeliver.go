package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Redelivery is what became of a change that was carried to a sink once more.
type Redelivery struct {
	Outcome Outcome // what the sink, or its plan, said; NoEffect where a filter drops the change
	Reason  string  // why, where the outcome is NoEffect or Suppressed
	Err     error   // not nil: it failed again, and the outcome says nothing
	Behind  bool    // Err is that an earlier change of its key failed: it was not tried
}

// RouteInfo is what a redrive must know of a way to a sink.
type RouteInfo struct {
	Name       string
	Suppressed bool // it plans and writes nothing
	Guarded    bool // versions decide: later changes may come before earlier ones; see Guarded

	Wrote  time.Time // when a Write, of a Run or a Redeliver, last had a change that did not fail; zero: none had yet
	Failed time.Time // when one last had a change that failed for now; zero: none had yet
}

// Well tells whether the sink takes what it is given, as far as is known: nothing has failed for now since something
// succeeded.
func (r RouteInfo) Well() bool { return r.Failed.IsZero() || r.Wrote.After(r.Failed) }

// Routes are the pipeline's ways to its sinks, in their order.
func (p *Pipeline) Routes() []RouteInfo {
	infos := make([]RouteInfo, len(p.routes))
	for i, r := range p.routes {
		infos[i] = RouteInfo{Name: r.Name, Suppressed: r.Suppress != "", Guarded: r.guarded}
		infos[i].Wrote, infos[i].Failed = r.health.times()
	}
	return infos
}

// Redeliver carries changes to one sink and no other once more, as a redrive of dead letters does: through the filters,
// the detectors, the sink's plan and its Write, in batches of the route and at its rate. It answers for each change,
// and blocks until the sink has answered for all, or ctx is done; nothing is retried.
//
// Changes of one key are delivered in the order of cs, and behind one that fails its key's later ones fail with a
// transient error. The error of Redeliver itself is that there is no such route.
//
// It counts in no ledger and asks no Quarantine. It may run beside a Run: for keys that are held, which a Run does not
// write, or for a sink that is [Guarded].
func (p *Pipeline) Redeliver(ctx context.Context, route string, cs []*record.Change) ([]Redelivery, error) {
	for _, r := range p.routes {
		if r.Name == route {
			d := redelivery{p: p, r: r, cs: cs, out: make([]Redelivery, len(cs)), failed: map[item.Key]bool{}}
			d.run(ctx)
			return d.out, nil
		}
	}
	return nil, errs.Errorf("pipeline %q has no route %q", p.o.Name, route)
}

// redelivery is one call of Redeliver.
type redelivery struct {
	p      *Pipeline
	r      *route
	cs     []*record.Change
	out    []Redelivery
	failed map[item.Key]bool

	batch   []Delivery // the next Write
	indexes []int      // their places in cs
	bytes   int64
	keys    map[item.Key]bool
}

func (d *redelivery) run(ctx context.Context) {
	d.keys = map[item.Key]bool{}
	for i, c := range d.cs {
		size := int64(len(c.Raw))
		if n := len(d.batch); n > 0 && (n >= d.r.Batch.Count || d.bytes+size > d.r.Batch.Bytes || d.keys[c.Key] && !d.r.keepsOrder) {
			d.write(ctx)
		}
		planned, err := d.plan(c)
		if err != nil && d.keys[c.Key] {
			d.write(ctx) // what is before it goes first
		}
		switch {
		case d.failed[c.Key]:
			d.setResult(i, planned, errUntried)
		case err != nil || planned.Outcome != Written:
			d.setResult(i, planned, err)
		default:
			d.batch, d.indexes, d.bytes, d.keys[c.Key] = append(d.batch, planned), append(d.indexes, i), d.bytes+size, true
		}
	}
	d.write(ctx)
}

// plan takes a change up to the Write.
func (d *redelivery) plan(c *record.Change) (Delivery, error) {
	if err := d.p.needs.check(c); err != nil {
		return Delivery{}, err
	}
	ev := d.p.evaluate(c, nil, nil)
	if ev.fatal != nil {
		return Delivery{}, ev.fatal
	}
	if ev.verdict.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: ev.verdict.Reason}, nil
	}
	v, fail := d.r.applyFilters(c, &ev, nil)
	if v.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: v.Reason}, nil
	}
	d2 := Delivery{Change: c, Events: d.r.events(&ev)}
	if fail == nil {
		fail = d.r.plan(&d2)
	}
	if fail != nil {
		return Delivery{}, fail.err
	}
	return d2, nil
}

// write writes what is there. A panic, or a permanent error of several as a whole, has a culprit, as in a Run: each is
// written once more by itself.
func (d *redelivery) write(ctx context.Context) {
	n := len(d.batch)
	if n == 0 {
		return
	}
	planned := slices.Clone(d.batch)
	errs := make([]error, n)
	batchErr := ctx.Err()
	if batchErr == nil {
		batchErr = d.r.callWrite(ctx, d.batch, errs)
	}
	_, panicked := errors.AsType[*redact.PanicError](batchErr)
	_, transient := Retryable(batchErr)
	isolate := batchErr != nil && n > 1 && ctx.Err() == nil && (panicked || !transient && !IsFatal(batchErr))
	for k, i := range d.indexes {
		switch {
		case isolate && d.failed[d.cs[i].Key]:
			errs[k] = errUntried
		case isolate:
			d.batch[k] = planned[k]
			if err := d.r.callWrite(ctx, d.batch[k:k+1:k+1], errs[k:k+1]); err != nil {
				errs[k] = err
			}
		case batchErr != nil:
			errs[k] = batchErr
		}
		d.setResult(i, d.batch[k], errs[k])
	}
	if d.r.Rate > 0 {
		_ = Sleep(ctx, time.Duration(float64(n)/d.r.Rate*float64(time.Second)))
	}
	d.batch, d.indexes, d.bytes = d.batch[:0], d.indexes[:0], 0
	clear(d.keys)
}

// setResult notes what became of change i. One that fails permanently and that a newer version has overtaken means
// nothing to the sink any more.
func (d *redelivery) setResult(i int, delivery Delivery, err error) {
	if _, again := Retryable(err); err != nil && !again && !IsFatal(err) && delivery.Outcome == Superseded {
		err = nil
	}
	if err != nil {
		d.failed[d.cs[i].Key] = true
		d.out[i] = Redelivery{Err: err, Behind: errors.Is(err, errUntried)}
		return
	}
	d.out[i] = Redelivery{Outcome: delivery.Outcome, Reason: delivery.Reason}
}
