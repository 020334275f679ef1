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

// Well tells whether the sink takes what it is given, as far as is known: nothing has
// failed for now since something succeeded.
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

// Redeliver carries changes to one sink and no other once more, as a redrive of
// dead letters does: through the filters, the detectors, the sink's plan and its
// Write, in batches of the route and at its rate. It answers for each change, and
// blocks until the sink has answered for all, or ctx is done; nothing is retried.
//
// Changes of one key are delivered in the order of cs, and behind one that fails its
// key's later ones fail with a transient error. The error of Redeliver itself is
// that there is no such route.
//
// It counts in no ledger and asks no Quarantine. It may run beside a Run: for keys
// that are held, which a Run does not write, or for a sink that is [Guarded].
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

	ds    []Delivery // the next Write
	of    []int      // their places in cs
	bytes int64
	keys  map[item.Key]bool
}

func (d *redelivery) run(ctx context.Context) {
	d.keys = map[item.Key]bool{}
	for i, c := range d.cs {
		size := int64(len(c.Raw))
		if n := len(d.ds); n > 0 && (n >= d.r.Batch.Count || d.bytes+size > d.r.Batch.Bytes || d.keys[c.Key] && !d.r.keepsOrder) {
			d.write(ctx)
		}
		one, err := d.plan(c)
		if err != nil && d.keys[c.Key] {
			d.write(ctx) // what is before it goes first
		}
		switch {
		case d.failed[c.Key]:
			d.end(i, one, errUntried)
		case err != nil || one.Outcome != Written:
			d.end(i, one, err)
		default:
			d.ds, d.of, d.bytes, d.keys[c.Key] = append(d.ds, one), append(d.of, i), d.bytes+size, true
		}
	}
	d.write(ctx)
}

// plan takes a change up to the Write.
func (d *redelivery) plan(c *record.Change) (Delivery, error) {
	if err := d.p.needs.check(c); err != nil {
		return Delivery{}, err
	}
	j := d.p.judge(c, nil, nil)
	if j.fatal != nil {
		return Delivery{}, j.fatal
	}
	if j.verdict.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: j.verdict.Reason}, nil
	}
	v, fail := d.r.sieve(c, &j, nil)
	if v.Drop {
		return Delivery{Change: c, Outcome: NoEffect, Reason: v.Reason}, nil
	}
	one := Delivery{Change: c, Events: d.r.events(&j)}
	if fail == nil {
		fail = d.r.plan(&one)
	}
	if fail != nil {
		return Delivery{}, fail.err
	}
	return one, nil
}

// write writes what is there. A panic, or a permanent error of several as a whole, has a
// culprit, as in a Run: each is written once more by itself.
func (d *redelivery) write(ctx context.Context) {
	n := len(d.ds)
	if n == 0 {
		return
	}
	planned := slices.Clone(d.ds)
	errs := make([]error, n)
	whole := ctx.Err()
	if whole == nil {
		whole = d.r.call(ctx, d.ds, errs)
	}
	_, panicked := errors.AsType[*redact.PanicError](whole)
	_, again := Retryable(whole)
	alone := whole != nil && n > 1 && ctx.Err() == nil && (panicked || !again && !IsFatal(whole))
	for k, i := range d.of {
		switch {
		case alone && d.failed[d.cs[i].Key]:
			errs[k] = errUntried
		case alone:
			d.ds[k] = planned[k]
			if err := d.r.call(ctx, d.ds[k:k+1:k+1], errs[k:k+1]); err != nil {
				errs[k] = err
			}
		case whole != nil:
			errs[k] = whole
		}
		d.end(i, d.ds[k], errs[k])
	}
	if d.r.Rate > 0 {
		_ = Sleep(ctx, time.Duration(float64(n)/d.r.Rate*float64(time.Second)))
	}
	d.ds, d.of, d.bytes = d.ds[:0], d.of[:0], 0
	clear(d.keys)
}

// end notes what became of change i. One that fails permanently and that a newer version has overtaken means
// nothing to the sink any more.
func (d *redelivery) end(i int, one Delivery, err error) {
	if _, again := Retryable(err); err != nil && !again && !IsFatal(err) && one.Outcome == Superseded {
		err = nil
	}
	if err != nil {
		d.failed[d.cs[i].Key] = true
		d.out[i] = Redelivery{Err: err, Behind: errors.Is(err, errUntried)}
		return
	}
	d.out[i] = Redelivery{Outcome: one.Outcome, Reason: one.Reason}
}
