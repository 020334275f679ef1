package dynamo

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// Output returns the output of a sink in a view table.
func (s *Store) Output(p state.OutputRef) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.OutputRef
}

// Identity returns the id of the table; "" if there is none.
func (o output) Identity(ctx context.Context) (string, error) {
	id, err := o.store.views.Identity(ctx, o.Name)
	if errors.Is(err, dynamo.ErrNoTable) {
		return "", nil
	}
	return id, err
}

// inspectPages bounds what Inspect reads of a table: pages of 1 MB, 2,048 read units.
const inspectPages = 16

// Inspect counts the rows and tombstones of the sink, by a scan of the table's first pages. If it finds none, a
// whole inspection continues to the first one.
func (o output) Inspect(ctx context.Context, whole bool) (l state.Inspection, err error) {
	enough := math.MaxInt
	count := func(item dynamo.Item) bool {
		m, _ := metaOf(item)
		l.Add(m.birth, 1)
		if _, gone := item[expiresAttribute]; gone {
			l.Tombstones++
		}
		return l.Total() < enough
	}
	l.Complete, err = o.scanRows(ctx, nil, inspectPages, count)
	if err == nil && whole && !l.Complete && l.Total() == 0 {
		enough = 1
		l.Complete, err = o.scanRows(ctx, nil, math.MaxInt, count)
	}
	if errors.Is(err, dynamo.ErrNoTable) {
		return state.Inspection{Complete: true}, nil
	}
	return l, err
}

// scanRows calls do for the sink's rows in the first pages of the table until do returns false. It reports whether
// it read the whole table. It reads up to pages pages of up to limit items; nil: as many as DynamoDB reads at once.
func (o output) scanRows(ctx context.Context, limit *int32, pages int, do func(dynamo.Item) bool) (whole bool, err error) {
	in := &dynamodb.ScanInput{
		TableName:                 &o.Name,
		Limit:                     limit,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("#tw.#by = :by AND #tw.#view = :view"),
		ProjectionExpression:      aws.String("#tw.#birth, #tw.#by, #expires"),
		ExpressionAttributeNames:  map[string]string{"#tw": metaAttribute, "#by": metaPipeline, "#view": metaView, "#birth": metaBirth, "#expires": expiresAttribute},
		ExpressionAttributeValues: dynamo.Item{":by": dynamo.S(o.Pipeline), ":view": dynamo.S(o.Sink)},
	}
	return o.store.views.ScanPages(ctx, in, pages, do)
}

// Emptied reads the table's first pages. If they are the whole table and have no row of the sink, it reports
// whether the state remembers rows.
func (o output) Emptied(ctx context.Context, birth string) (bool, error) {
	for range 2 { // twice, because a row may be written or removed in between
		none := true
		whole, err := o.scanRows(ctx, aws.Int32(100), inspectPages, func(dynamo.Item) bool { none = false; return false })
		if err != nil || !none || !whole {
			return false, err
		}
		if had, err := o.remembersRow(ctx, birth); err != nil || !had {
			return false, err
		}
	}
	return true, nil
}

// remembersRow reports whether the state remembers a row or a share of one of the target's witnesses.
func (o output) remembersRow(ctx context.Context, birth string) (bool, error) {
	t := state.Target{Pipeline: o.Pipeline, Table: o.Name, View: o.Sink, Birth: birth}
	items, err := o.store.Witnesses(ctx, t)
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

// noWitness is for rows of which the state remembers nothing.
func noWitness(func(item.Key) bool) {}

// itemsOf yields the items of writes that of accepts.
func itemsOf[W any](ws []W, of func(*W) (item.Key, bool)) iter.Seq[item.Key] {
	return func(yield func(item.Key) bool) {
		for i := range ws {
			if key, ok := of(&ws[i]); ok && !yield(key) {
				return
			}
		}
	}
}

// Forget does nothing: a table remembers nothing of deleted rows.
func (output) Forget(context.Context) error { return nil }
