package main

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// celRows are what a filter in CEL costs.
func celRows() []row {
	of := func(variant, filter string) row {
		return row{
			id: "cel", variant: variant,
			work:  "decode Lambda events of 100 records, look for one transition, with the CEL filter `" + filter + "`",
			peer:  "the same without the filter",
			of:    cost,
			input: variant == "",
			open: func(ctx context.Context, b *bench) (*contest, error) {
				return openCEL(ctx, b, b.usual(), filter)
			},
		}
	}
	r := of("", `new.Status == "completed" && old.Status != new.Status`)
	r.most, r.allocs = 1.25, new(6.0)
	return []row{r, of("interpreted", `new.Lines.exists(l, l.qty > 1)`)}
}

// celTally is what was found.
type celTally struct{ changes, completed int }

func openCEL(ctx context.Context, b *bench, s *shape, filter string) (*contest, error) {
	condition, err := expr.Env{}.CompileChange(filter)
	if err != nil {
		return nil, err
	}
	keep := pipeline.Keep("filter", condition)
	status, err := pipeline.ParsePath("Status")
	if err != nil {
		return nil, err
	}
	transition := pipeline.Transition(status, "*", "completed")
	decoder := pipeline.NewDecoder(pipeline.DecoderOptions{})
	payloads, records := s.events(10)
	var found []pipeline.Event
	kept := 0
	pass := func(filters ...pipeline.Filter) func(context.Context) (celTally, error) {
		return func(context.Context) (n celTally, err error) {
			kept = 0
			for _, payload := range payloads {
				page, err := decoder.Decode(payload)
				if err != nil {
					return n, err
				}
				n.changes += len(page.Changes)
				for i := range page.Changes {
					c := &page.Changes[i]
					for _, f := range filters {
						verdict, err := f.Check(c)
						if err != nil {
							return n, err
						}
						if !verdict.Drop {
							kept++
						}
					}
					if found, err = transition.Detect(found[:0], c); err != nil {
						return n, err
					}
					n.completed += len(found)
				}
			}
			return n, nil
		}
	}
	with := pass(keep)
	if _, err := with(ctx); err != nil {
		return nil, err
	}
	if s.name == "usual" && kept != records {
		return nil, fmt.Errorf("the filter keeps %d of %d records, each of which it fits", kept, records)
	}
	return agree(ctx, b, records, with, pass())
}
