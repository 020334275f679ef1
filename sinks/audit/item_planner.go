package audit

import (
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// planner plans items for one sink, as the pipeline does.
type planner struct {
	pipeline   *pipeline.Pipeline
	explainers *sync.Pool // of *pipeline.Explainer
}

// newPlanner returns the planner of a sink. Its plans are never written. They are compared or, with an option that
// masks, shown to people.
func newPlanner(
	ctx context.Context, cfg *config.Config, s config.Sink, birth string, opts ...sinks.Option,
) (planner, error) {
	oneSink := *cfg
	oneSink.Sinks, oneSink.Detectors = []config.Sink{s}, nil // other sinks, and detectors, do not influence the plan
	opts = append(opts, sinks.SuppressEvents("audit"), sinks.BornAs(map[string]string{s.Name: birth}))
	p, err := sinks.Assemble(ctx, &oneSink, sinks.PlanOnly(), opts...)
	return planner{p, new(sync.Pool)}, err
}

// ops returns the planned writes of an item. There are none if a filter drops the item, or if the item has no place in
// the sink. An error means that no row, share or document can be planned.
func (p planner) ops(c *record.Change) ([]pipeline.Op, error) {
	x := p.pipeline.Explain(c)
	return plannedOps(&x)
}

// withOps calls use with the planned writes, which are valid only until use returns.
func (p planner) withOps(c *record.Change, use func(ops []pipeline.Op) error) error {
	e, ok := p.explainers.Get().(*pipeline.Explainer)
	if !ok {
		e = p.pipeline.Explainer()
	}
	defer p.explainers.Put(e)
	ops, err := plannedOps(e.Explain(c))
	if err != nil {
		return err
	}
	return use(ops)
}

// plannedOps returns the writes of an explanation, or the error of the first filter that failed or of the sink.
func plannedOps(x *pipeline.Explanation) ([]pipeline.Op, error) {
	for i := range x.Filters {
		if err := x.Filters[i].Err; err != nil {
			return nil, err
		}
	}
	if len(x.Routes) == 0 {
		return nil, nil
	}
	route := &x.Routes[0] // the route of the only sink
	return route.Ops, route.Err
}

// removalOps returns the planned writes of the item's removal in a stream without images. The writes name the places
// where the sink may still have the item. removalOps returns none if only an image shows these places.
func (p planner) removalOps(c *record.Change) []pipeline.Op {
	ops, err := p.ops(Removal(c))
	if err != nil {
		return nil
	}
	return ops
}

// Removal returns the removal of a change's item, as in a stream without images. [Sink].Compare accepts it for an item
// that the source table does not have.
func Removal(c *record.Change) *record.Change {
	r := *c
	r.Op, r.EventName, r.ViewType, r.Old, r.New = record.Remove, "REMOVE", record.KeysOnly, item.Image{}, item.Image{}
	return &r
}
