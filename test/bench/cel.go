package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// celFilter is a CEL expression, and the same condition in Go.
type celFilter struct {
	variant, src string
	holds        func(*record.Change) bool
}

// celFilters returns expressions as configurations have them. The first one has the budget.
func celFilters() []celFilter {
	text := func(m item.Image, name string) string {
		v, _ := m.Get(name)
		s, _ := v.Text()
		return s
	}
	number := func(v item.Value, _ bool) float64 {
		n, _ := v.Float64()
		return n
	}
	return []celFilter{
		{"", `new.Status == "completed" && old.Status != new.Status`, func(c *record.Change) bool {
			now, _ := c.New.Get("Status")
			old, _ := c.Old.Get("Status")
			return text(c.New, "Status") == "completed" && !old.Equal(now)
		}},
		{"a text", `new.Type == "Order"`, func(c *record.Change) bool { return text(c.New, "Type") == "Order" }},
		{"numbers", `new.Total > 100.50 && new.CreatedAt >= old.CreatedAt`, func(c *record.Change) bool {
			return number(c.New.Get("Total")) > 100.5 && number(c.New.Get("CreatedAt")) >= number(c.Old.Get("CreatedAt"))
		}},
		{"has, in, startsWith", `has(new.Coupon) && new.Currency in ["CHF", "EUR"] && keys.PK.startsWith("USER#")`, func(c *record.Change) bool {
			_, has := c.New.Get("Coupon")
			return has && slices.Contains([]string{"CHF", "EUR"}, text(c.New, "Currency")) && strings.HasPrefix(text(c.Keys, "PK"), "USER#")
		}},
		{"a loop", `new.Lines.exists(l, l.qty > 1.5)`, func(c *record.Change) bool {
			lines, _ := c.New.Get("Lines")
			for _, l := range lines.Elements() {
				if number(l.Get("qty")) > 1.5 {
					return true
				}
			}
			return false
		}},
	}
}

// celRows measure the cost of a filter in CEL.
func celRows() []row {
	var rows []row
	for i, f := range celFilters() {
		r := row{
			id: "cel", variant: f.variant,
			work: "decode Lambda events of 100 records, look for one transition, with the CEL filter `" + f.src + "`",
			peer: "the same without the filter",
			of:   cost,
			open: func(ctx context.Context, b *bench) (*contest, error) { return openCEL(ctx, b, usual(), f) },
		}
		if i == 0 {
			r.most, r.allocs, r.input = 1.25, new(6.0), true
			r.open = func(ctx context.Context, b *bench) (*contest, error) { return openCEL(ctx, b, b.usual(), f) }
		}
		rows = append(rows, r)
	}
	return rows
}

// countHolding returns for how many records of the payloads the condition in Go holds.
func (f celFilter) countHolding(decoder *record.Decoder, payloads [][]byte) (n int, err error) {
	for _, payload := range payloads {
		page, err := decoder.Decode(payload)
		if err != nil {
			return n, err
		}
		for i := range page.Changes {
			if f.holds(&page.Changes[i]) {
				n++
			}
		}
	}
	return n, nil
}

// celTally counts what was found.
type celTally struct{ changes, completed int }

func openCEL(ctx context.Context, b *bench, s *shape, f celFilter) (*contest, error) {
	condition, err := expr.Env{}.CompileChange(f.src)
	if err != nil {
		return nil, err
	}
	keep := rules.Keep("filter", condition)
	status, err := item.ParsePath("Status")
	if err != nil {
		return nil, err
	}
	c := &celContest{
		decoder:    record.NewDecoder(record.DecoderOptions{}),
		transition: rules.Transition(status, "*", "completed"),
	}
	var records int
	c.payloads, records = s.events(10)
	want, err := f.countHolding(c.decoder, c.payloads)
	if err != nil {
		return nil, err
	}
	with := func(context.Context) (celTally, error) { return c.pass(keep) }
	without := func(context.Context) (celTally, error) { return c.pass(nil) }
	if _, err := with(ctx); err != nil {
		return nil, err
	}
	if kept := c.kept; kept != want {
		return nil, fmt.Errorf("the filter keeps %d of %d records, and %d are to be kept", kept, records, want)
	}
	return agree(ctx, b, records, with, without)
}

// celContest looks for a transition in the same events, with and without a filter.
type celContest struct {
	decoder    *record.Decoder
	payloads   [][]byte
	transition pipeline.Detector
	found      []pipeline.Event
	kept       int // records that the filter kept in the last pass
}

// pass goes through all events. filter may be nil.
func (c *celContest) pass(filter pipeline.Filter) (n celTally, err error) {
	c.kept = 0
	for _, payload := range c.payloads {
		page, err := c.decoder.Decode(payload)
		if err != nil {
			return n, err
		}
		n.changes += len(page.Changes)
		for i := range page.Changes {
			completed, err := c.check(&page.Changes[i], filter)
			if err != nil {
				return n, err
			}
			n.completed += completed
		}
	}
	return n, nil
}

// check filters a change, and returns the number of its transitions. The filter only counts.
func (c *celContest) check(change *record.Change, filter pipeline.Filter) (completed int, err error) {
	if filter != nil {
		verdict, err := filter.Check(change)
		if err != nil {
			return 0, err
		}
		if !verdict.Drop {
			c.kept++
		}
	}
	c.found, err = c.transition.Detect(c.found[:0], change)
	return len(c.found), err
}
