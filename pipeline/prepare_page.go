package pipeline

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// preparedPage is the result of running filters, detectors and plans over a page.
type preparedPage struct {
	source SourceLedger // without Filtered: drops has these counts
	drops  reasonCounts
	events reasonCounts
	routes []preparedRoute
	fatal  error
	newest time.Time
}

// preparedRoute is the part of a preparedPage for one sink.
type preparedRoute struct {
	deliveries []queuedDelivery // they use the memory of arena
	arena      *planArena       // nil if filters dropped all changes
	routed     int64
	dropped    reasonCounts
	noEffect   reasonCounts
	suppressed int64
}

// evaluatePage runs filters, detectors and plans over a page. It is pure, and called concurrently for different pages.
func (p *Pipeline) evaluatePage(in *inflightPage) *preparedPage {
	page := in.page
	out := &preparedPage{routes: make([]preparedRoute, len(p.routes))}
	out.source.Duplicate = int64(page.Duplicates)
	out.source.Undecodable = int64(len(page.Errors))
	out.source.Read = int64(len(page.Changes) + len(page.Errors) + page.Duplicates)
	var events []Event
	for i := range page.Changes {
		if events, out.fatal = p.evaluateChange(in, i, events, out); out.fatal != nil {
			return out
		}
	}
	return out
}

// evaluateChange adds a change of the page to out. It puts events into the free capacity of buf, and returns the buffer
// for those of the next change.
func (p *Pipeline) evaluateChange(in *inflightPage, index int, buf []Event, out *preparedPage) ([]Event, error) {
	c := &in.page.Changes[index]
	if c.Time.After(out.newest) {
		out.newest = c.Time
	}
	if err := p.accept(c); err != nil {
		return nil, err
	}
	ev := p.evaluate(c, buf, nil)
	if ev.fatal != nil {
		return nil, ev.fatal
	}
	if ev.verdict.Drop {
		out.drops.add(ev.verdict.Reason)
		return buf, nil
	}
	for k := range ev.events {
		out.events.add(ev.events[k].Detector)
	}
	switch buf = ev.events[len(ev.events):]; {
	case p.ignoresEvents:
		buf = ev.events[:0] // they are counted, and no sink gets them
	case len(ev.events) > 0 && cap(buf) == 0: // after one event there are usually more
		buf = make([]Event, 0, min(64, len(in.page.Changes)-index))
	}
	routed := false
	hash := maphash.String(p.seed, string(c.Key))
	for r := range p.routes {
		taken, err := p.routes[r].prepareDelivery(c, hash, &ev, in, &out.routes[r], index)
		if err != nil {
			return nil, err
		}
		routed = routed || taken
	}
	if routed {
		out.source.Routed++
	} else {
		out.source.Unrouted++
	}
	return buf, nil
}

// accept returns an error if the change does not belong to the source of this pipeline.
func (p *Pipeline) accept(c *record.Change) error {
	if p.o.Accept != nil {
		if err := p.o.Accept(c); err != nil {
			return Fatal(err)
		}
	}
	return p.needs.check(c)
}

// prepareDelivery adds the delivery of a change to the deliveries of a route. It adds none if a filter of the route
// drops the change, or if the plan already decides the outcome. hash is the hash of the key, and index is the index of
// the change in its page. taken reports whether the filters kept the change. fatal is an error that ends the run.
func (r *route) prepareDelivery(
	c *record.Change, hash uint64, ev *evaluation, in *inflightPage, out *preparedRoute, index int,
) (taken bool, fatal error) {
	v, fail := r.applyFilters(c, ev, nil)
	if v.Drop {
		out.dropped.add(v.Reason)
		return false, nil
	}
	if out.arena == nil {
		out.arena = r.arenas.get()
		out.deliveries = out.arena.deliveries[:0]
	}
	n := len(out.deliveries)
	if n == cap(out.deliveries) {
		out.deliveries = out.arena.growDeliveries(out.deliveries, index, len(in.page.Changes))
	}
	out.deliveries = out.deliveries[:n+1] // its memory is zero: put cleared the arena
	out.arena.count = max(out.arena.count, n+1)
	qd := &out.deliveries[n]
	qd.page, qd.hash, qd.size, qd.fail = in, hash, int64(len(c.Raw)), fail
	qd.d.Change, qd.d.Events = c, r.events(ev)
	if r.planner != nil {
		qd.d.Ops, qd.d.arena = out.arena.ops[n:n:n+1], out.arena
	}
	if fail == nil {
		qd.fail = r.planDelivery(&qd.d)
	}
	if qd.fail != nil && IsFatal(qd.fail.err) {
		return true, qd.fail.err
	}
	out.routed++
	if qd.fail == nil && qd.d.Outcome != Written {
		if qd.d.Outcome == NoEffect {
			out.noEffect.add(qd.d.Reason)
		} else {
			out.suppressed++
		}
		*qd = queuedDelivery{}
		out.deliveries = out.deliveries[:n]
	}
	return true, nil
}

// events returns the events for a delivery.
func (r *route) events(ev *evaluation) []Event {
	if r.ignoresEvents {
		return nil
	}
	return ev.events[:len(ev.events):len(ev.events)]
}

// evaluation is the result of the filters and detectors of the source for one change.
type evaluation struct {
	verdict   Verdict
	fail      error // error of a filter; a permanent failure at every route
	events    []Event
	eventsErr error // first error of a detector; a permanent failure at routes that need events
	fatal     error
}

// evaluate runs the filters and detectors of the source. It puts events into the free capacity of buf. If x is not nil,
// it receives the result of each filter.
func (p *Pipeline) evaluate(c *record.Change, buf []Event, x *Explanation) (ev evaluation) {
	var trace *[]FilterTrace
	if x != nil {
		trace = &x.Filters
	}
	ev.verdict, ev.fail = runFilters(p.filters, c, trace)
	if IsFatal(ev.fail) {
		ev.fatal = ev.fail
	}
	if ev.fail != nil || ev.verdict.Drop || c.Op == record.Snapshot {
		return ev
	}
	ev.events = buf[len(buf):]
	for i := range p.detectors {
		events, err := p.detectors[i].detect(ev.events, c)
		if err == nil {
			ev.events = events
			continue
		}
		if IsFatal(err) {
			ev.fatal = err
		}
		ev.eventsErr = cmp.Or(ev.eventsErr, err)
	}
	return ev
}

// applyFilters runs the filters of a route. The failure is that of a filter of the route, or of an earlier stage if it
// applies to the route. It is nil if there is none.
func (r *route) applyFilters(c *record.Change, ev *evaluation, trace *[]FilterTrace) (Verdict, *failure) {
	if ev.fail != nil {
		return Verdict{}, &failure{classFilter, ev.fail}
	}
	v, err := runFilters(r.filters, c, trace)
	switch {
	case err != nil:
		return Verdict{}, &failure{classFilter, err}
	case !v.Drop && r.NeedsEvents && ev.eventsErr != nil:
		return Verdict{}, &failure{classDetector, ev.eventsErr}
	}
	return v, nil
}

// planDelivery has the sink plan a delivery, and suppresses it if the route demands that. It returns nil if the plan
// succeeded.
func (r *route) planDelivery(d *Delivery) *failure {
	err := r.callPlan(d)
	d.arena = nil
	if err != nil {
		*d = Delivery{Change: d.Change, Events: d.Events}
		return &failure{classPlan, err}
	}
	if r.Suppress != "" && d.Outcome == Written {
		d.Outcome, d.Reason = Suppressed, r.Suppress
	}
	return nil
}

func (r *route) callPlan(d *Delivery) (err error) {
	if r.planner == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = panicError(r.stage, v)
		}
	}()
	if err := r.planner.Plan(d); err != nil {
		return fmt.Errorf("%s: %w", r.stage, err)
	}
	if d.Outcome != Written && d.Outcome != NoEffect && d.Outcome != Suppressed {
		return errs.Errorf("%s: Plan set the outcome %s, which only Write may set", r.stage, redact.Safe(d.Outcome.String()))
	}
	return nil
}
