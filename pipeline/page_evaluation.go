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
func (p *Pipeline) evaluatePage(page *inflightPage) *preparedPage {
	content := page.content
	out := &preparedPage{routes: make([]preparedRoute, len(p.routes))}
	out.source.Duplicate = int64(content.Duplicates)
	out.source.Undecodable = int64(len(content.Errors))
	out.source.Read = int64(content.Len() + content.Duplicates)
	e := pageEvaluation{p: p, page: page, out: out}
	for i := range content.Changes {
		out.fatal = e.addChange(i)
		if out.fatal != nil {
			return out
		}
	}
	return out
}

// pageEvaluation evaluates the changes of a page, one after the other.
type pageEvaluation struct {
	p      *Pipeline
	page   *inflightPage
	out    *preparedPage
	events []Event // its free capacity is memory for the events of the next changes
}

// addChange adds the result of the change with that index to out. It returns an error that ends the run.
func (e *pageEvaluation) addChange(index int) (fatal error) {
	c := &e.page.content.Changes[index]
	e.out.newest = laterOf(e.out.newest, c.Time)
	if err := e.p.accept(c); err != nil {
		return err
	}
	ev := e.p.evaluate(c, e.events, nil)
	if ev.fatal != nil {
		return ev.fatal
	}
	if ev.verdict.Drop {
		e.out.drops.add(ev.verdict.Reason)
		return nil
	}
	for i := range ev.events {
		e.out.events.add(ev.events[i].Detector)
	}
	e.keepFreeEvents(ev.events, index)

	routed, err := e.addDeliveries(index, &ev)
	if err != nil {
		return err
	}
	if routed {
		e.out.source.Routed++
	} else {
		e.out.source.Unrouted++
	}
	return nil
}

// keepFreeEvents keeps the free memory after events for the next changes. events belong to the change with that index.
func (e *pageEvaluation) keepFreeEvents(events []Event, index int) {
	if e.p.ignoresEvents {
		e.events = events[:0] // the events are counted, and no sink gets them
		return
	}
	e.events = events[len(events):]
	if len(events) > 0 && cap(e.events) == 0 { // after one event there are usually more
		e.events = make([]Event, 0, min(64, len(e.page.content.Changes)-index))
	}
}

// addDeliveries adds a delivery of the change with that index to each route whose filters keep the change. routed
// reports whether there is such a route.
func (e *pageEvaluation) addDeliveries(index int, ev *evaluation) (routed bool, fatal error) {
	c := &e.page.content.Changes[index]
	change := pageChange{page: e.page, index: index, change: c, hash: maphash.String(e.p.seed, string(c.Key))}
	for i, r := range e.p.routes {
		kept, err := r.prepareDelivery(&change, ev, &e.out.routes[i])
		if err != nil {
			return false, err
		}
		routed = routed || kept
	}
	return routed, nil
}

// pageChange is a change with its page.
type pageChange struct {
	page   *inflightPage
	index  int // index of the change in the page
	change *record.Change
	hash   uint64 // hash of the key
}

// accept returns an error if the change does not belong to the source of this pipeline.
func (p *Pipeline) accept(c *record.Change) error {
	if p.options.Accept != nil {
		if err := p.options.Accept(c); err != nil {
			return Fatal(err)
		}
	}
	return p.needs.check(c)
}

// prepareDelivery adds the delivery of a change to the deliveries of a route. It adds none if a filter of the route
// drops the change, or if the plan already decides the outcome. kept reports whether the filters kept the change. fatal
// is an error that ends the run.
func (r *route) prepareDelivery(c *pageChange, ev *evaluation, out *preparedRoute) (kept bool, fatal error) {
	verdict, fail := r.applyFilters(c.change, ev, nil)
	if verdict.Drop {
		out.dropped.add(verdict.Reason)
		return false, nil
	}
	delivery := out.addDelivery(c, r)
	delivery.Events = r.events(ev)
	if fail == nil {
		fail = r.planDelivery(&delivery.Delivery)
	}
	delivery.fail = fail
	if fail != nil && IsFatal(fail.err) {
		return true, fail.err
	}
	out.routed++
	isDecided := fail == nil && delivery.Outcome != Written
	if isDecided {
		out.finishPlanned(delivery)
	}
	return true, nil
}

// addDelivery adds a delivery of a change, without events and plan, in the memory of the arena. r is the route of p.
func (p *preparedRoute) addDelivery(c *pageChange, r *route) *queuedDelivery {
	if p.arena == nil {
		p.arena = r.arenas.get()
		p.deliveries = p.arena.deliveries[:0]
	}
	n := len(p.deliveries)
	if n == cap(p.deliveries) {
		p.deliveries = p.arena.growDeliveries(p.deliveries, c.index, len(c.page.content.Changes))
	}
	p.deliveries = p.deliveries[:n+1] // its memory is zero: put cleared the arena
	p.arena.count = max(p.arena.count, n+1)
	delivery := &p.deliveries[n]
	delivery.Change, delivery.page, delivery.hash, delivery.size = c.change, c.page, c.hash, int64(len(c.change.Raw))
	if r.planner != nil { // most plans have one operation: the arena has memory for it
		delivery.Ops, delivery.arena = p.arena.ops[n:n:n+1], p.arena
	}
	return delivery
}

// finishPlanned counts the last delivery, whose plan decided the outcome, and removes it.
func (p *preparedRoute) finishPlanned(delivery *queuedDelivery) {
	if delivery.Outcome == NoEffect {
		p.noEffect.add(delivery.Reason)
	} else {
		p.suppressed++
	}
	*delivery = queuedDelivery{}
	p.deliveries = p.deliveries[:len(p.deliveries)-1]
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

// evaluate runs the filters and detectors of the source. It puts events into the free capacity of buf. If trace is not
// nil, it receives the result of each filter.
func (p *Pipeline) evaluate(c *record.Change, buf []Event, trace *[]FilterTrace) (ev evaluation) {
	ev.verdict, ev.fail = runFilters(p.filters, c, trace)
	if IsFatal(ev.fail) {
		ev.fatal = ev.fail
	}
	raisesEvents := ev.fail == nil && !ev.verdict.Drop && c.Op != record.Snapshot
	if !raisesEvents {
		return ev
	}
	ev.events = buf[len(buf):]
	for i := range p.detectors {
		events, err := p.detectors[i].detect(ev.events, c)
		if err == nil {
			ev.events = events
			continue
		}
		ev.eventsErr = cmp.Or(ev.eventsErr, err)
		if IsFatal(err) {
			ev.fatal = err
		}
	}
	return ev
}

// applyFilters runs the filters of a route. It returns a failure if a filter of the route fails, or if the failure of
// an earlier stage applies to the route. Otherwise the failure is nil.
func (r *route) applyFilters(c *record.Change, ev *evaluation, trace *[]FilterTrace) (Verdict, *failure) {
	if ev.fail != nil {
		return Verdict{}, &failure{classFilter, ev.fail}
	}
	verdict, err := runFilters(r.filters, c, trace)
	if err != nil {
		return Verdict{}, &failure{classFilter, err}
	}
	if !verdict.Drop && r.NeedsEvents && ev.eventsErr != nil {
		return Verdict{}, &failure{classDetector, ev.eventsErr}
	}
	return verdict, nil
}

// planDelivery has the sink plan a delivery, and suppresses it if the route demands that. It returns nil if the plan
// succeeded.
func (r *route) planDelivery(delivery *Delivery) *failure {
	err := r.callPlan(delivery)
	delivery.arena = nil
	if err != nil {
		*delivery = Delivery{Change: delivery.Change, Events: delivery.Events}
		return &failure{classPlan, err}
	}
	if r.Suppress != "" && delivery.Outcome == Written {
		delivery.Outcome, delivery.Reason = Suppressed, r.Suppress
	}
	return nil
}

// callPlan calls Plan of the sink. A panic becomes an error.
func (r *route) callPlan(delivery *Delivery) (err error) {
	if r.planner == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = panicError(r.stage, v)
		}
	}()
	if err := r.planner.Plan(delivery); err != nil {
		return fmt.Errorf("%s: %w", r.stage, err)
	}
	switch delivery.Outcome {
	case Written, NoEffect, Suppressed:
		return nil
	}
	return errs.Errorf("%s: Plan set the outcome %s, which only Write may set", r.stage,
		redact.Safe(delivery.Outcome.String()))
}
