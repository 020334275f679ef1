package dynamo

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// Output is what a sink has in a view table.
func (s *Store) Output(p state.Place) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.Place
}

// Identity is that of the table; "" where there is none.
func (o output) Identity(ctx context.Context) (string, error) {
	id, err := o.store.views.Identity(ctx, o.Name)
	if errors.Is(err, dynamo.ErrNoTable) {
		return "", nil
	}
	return id, err
}

// lookPages is how much of a table a look reads: pages of 1 MB, 2,048 read units.
const lookPages = 16

// Look counts rows and tombstones of the sink, by a scan of the table's beginning. Where none are there, a
// whole look goes on to the first of them.
func (o output) Look(ctx context.Context, whole bool) (l state.Look, err error) {
	enough := math.MaxInt
	count := func(item dynamo.Item) bool {
		m, _ := markOf(item)
		l.Add(m.birth, 1)
		if _, gone := item[expiresAttribute]; gone {
			l.Tombstones++
		}
		return l.Total() < enough
	}
	l.Whole, err = o.look(ctx, nil, lookPages, count)
	if err == nil && whole && !l.Whole && l.Total() == 0 {
		enough = 1
		l.Whole, err = o.look(ctx, nil, math.MaxInt, count)
	}
	if errors.Is(err, dynamo.ErrNoTable) {
		return state.Look{Whole: true}, nil
	}
	return l, err
}

// look hands what the sink has at the table's beginning to do until that answers false, and tells
// whether that was all of the table. It reads so many pages at most; limit is of a page's items, nil: as many
// as DynamoDB takes.
func (o output) look(ctx context.Context, limit *int32, pages int, do func(dynamo.Item) bool) (whole bool, err error) {
	in := &dynamodb.ScanInput{
		TableName:                 &o.Name,
		Limit:                     limit,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("#tw.#by = :by AND #tw.#view = :view"),
		ProjectionExpression:      aws.String("#tw.#birth, #tw.#by, #expires"),
		ExpressionAttributeNames:  map[string]string{"#tw": markAttribute, "#by": markPipeline, "#view": markView, "#birth": markBirth, "#expires": expiresAttribute},
		ExpressionAttributeValues: dynamo.Item{":by": str(o.Pipeline), ":view": str(o.Sink)},
	}
	return o.store.views.ScanSome(ctx, in, pages, do)
}

// Emptied asks for the table's beginning, and where nothing of the sink is in all of it, what the state
// remembers of the items that came to have rows there.
func (o output) Emptied(ctx context.Context, birth string) (bool, error) {
	for range 2 { // a row that is written or left meanwhile is not lost
		none := true
		whole, err := o.look(ctx, aws.Int32(100), lookPages, func(dynamo.Item) bool { none = false; return false })
		if err != nil || !none || !whole {
			return false, err
		}
		if had, err := o.remembered(ctx, birth); err != nil || !had {
			return false, err
		}
	}
	return true, nil
}

// remembered tells whether the state remembers a row of one of the target's witnesses.
func (o output) remembered(ctx context.Context, birth string) (bool, error) {
	t := view.Target{Table: view.Table{Name: o.Name}, View: o.Sink, Pipeline: o.Pipeline, Birth: birth}
	items, err := o.store.Witnesses(ctx, targetOf(t))
	if err != nil || len(items) == 0 {
		return false, err
	}
	guards, err := o.store.Guards(ctx, t, items)
	if err != nil || slices.ContainsFunc(guards, func(g state.Guard) bool { return g.Row != "" }) {
		return err == nil, err
	}
	counted, err := o.store.Contributions(ctx, t, items)
	return err == nil && slices.ContainsFunc(counted, func(c state.Contribution) bool { return len(c.Shares) > 0 }), err
}

// noWitness is of rows that the state remembers nothing of.
func noWitness(func(pipeline.Key) bool) {}

// entering are the items that come to have a row.
func entering(ws []view.ItemWrite) iter.Seq[pipeline.Key] {
	return func(yield func(pipeline.Key) bool) {
		for i := range ws {
			if ws[i].Guard.Row != "" && !yield(ws[i].Source) {
				return
			}
		}
	}
}

// counted are the items that come to count in a group.
func counted(ws []view.GroupWrite) iter.Seq[pipeline.Key] {
	return func(yield func(pipeline.Key) bool) {
		for i := range ws {
			for j := range ws[i].Items {
				if c := &ws[i].Items[j]; len(c.Now.Shares) > 0 && !yield(c.Source) {
					return
				}
			}
		}
	}
}

// Renew does nothing: a table remembers nothing of its rows that are gone.
func (output) Renew(context.Context) error { return nil }
