package pipeline

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Explanation is what a pipeline would do with one change.
type Explanation struct {
	Change  *record.Change
	Filters []FilterTrace // up to the first filter that drops the change
	Diff    []item.Difference
	Events  []Event
	Routes  []RouteTrace // empty if a filter drops the change
}

// FilterTrace is the result of one filter.
type FilterTrace struct {
	Verdict Verdict
	Err     error
	Name    string
}

// RouteTrace is what one sink would do.
type RouteTrace struct {
	Name    string
	Filters []FilterTrace
	Taken   bool // no filter of the route dropped the change
	Ops     []Op
	Outcome Outcome
	Reason  string
	Err     error
}

// Explain returns what the pipeline would do with one change. It runs the same code as Run, up to the plans of the
// sinks, and writes nothing.
func (p *Pipeline) Explain(c *record.Change) Explanation {
	var x Explanation
	p.explain(c, &x, nil)
	return x
}

// Explainer explains changes one after the other, and uses the same memory for each. It is not safe for concurrent use.
type Explainer struct {
	p     *Pipeline
	x     Explanation
	arena planArena
}

// Explainer returns an Explainer of the pipeline.
func (p *Pipeline) Explainer() *Explainer { return &Explainer{p: p} }

// Explain does what [Pipeline.Explain] does. The result, with the plans in it, is valid until the next call.
func (e *Explainer) Explain(c *record.Change) *Explanation {
	text := e.arena.text // strings are not overwritten: the next change uses the free space after them
	e.arena.empty()
	e.arena.text = text
	clear(e.x.Routes)
	e.x = Explanation{Filters: e.x.Filters[:0], Routes: e.x.Routes[:0]}
	e.p.explain(c, &e.x, &e.arena)
	return &e.x
}

// explain fills x, which is empty. The plans use the memory of arena; if arena is nil, they use new memory.
func (p *Pipeline) explain(c *record.Change, x *Explanation, arena *planArena) {
	x.Change = c
	if c.Old.Exists() && c.New.Exists() {
		x.Diff = item.Diff(c.Old, c.New)
	}
	ev := p.evaluate(c, nil, &x.Filters)
	if ev.verdict.Drop {
		return
	}
	x.Events = ev.events
	for _, r := range p.routes {
		x.Routes = append(x.Routes, r.explain(c, &ev, arena))
	}
}

// explain returns what the route does with a change that the filters of the source keep.
func (r *route) explain(c *record.Change, ev *evaluation, arena *planArena) RouteTrace {
	trace := RouteTrace{Name: r.Name}
	verdict, fail := r.applyFilters(c, ev, &trace.Filters)
	trace.Taken = !verdict.Drop
	delivery := Delivery{Change: c, Events: r.events(ev), arena: arena}
	if trace.Taken && fail == nil {
		fail = r.planDelivery(&delivery)
	}
	trace.Ops, trace.Outcome, trace.Reason = delivery.Ops, delivery.Outcome, delivery.Reason
	if fail != nil {
		trace.Outcome, trace.Err = DeadLettered, fail.err
	}
	return trace
}
