package dynamo

import (
	"context"
	"errors"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// Output returns the output of a sink in a view table.
func (s *Store) Output(p state.OutputRef) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.OutputRef
}

// Identity returns the identity of the table; "" if there is no table.
func (o output) Identity(ctx context.Context) (string, error) {
	id, err := o.store.views.Identity(ctx, o.Name)
	if errors.Is(err, dynamo.ErrNoTable) {
		return "", nil
	}
	return id, err
}

// inspectPages is the number of pages that Inspect reads of a table. 16 pages of 1 MB cost 2,048 read units.
const inspectPages = 16

// Inspect counts the rows and tombstones of the sink in the first pages of the table. If these pages have no row or
// tombstone of the sink and all is set, Inspect continues until it finds one.
func (o output) Inspect(ctx context.Context, all bool) (in state.Inspection, err error) {
	count := func(item dynamo.Item) {
		meta, _ := metaOf(item)
		in.Add(meta.birth, 1)
		if _, isTombstone := item[expiresAttribute]; isTombstone {
			in.Tombstones++
		}
	}
	in.Complete, err = o.scanRows(ctx, nil, inspectPages, func(item dynamo.Item) bool {
		count(item)
		return true
	})
	isUndecided := !in.Complete && in.Total() == 0
	if err == nil && all && isUndecided {
		// The first pages had nothing to count, so nothing is counted twice.
		in.Complete, err = o.scanRows(ctx, nil, math.MaxInt, func(item dynamo.Item) bool {
			count(item)
			return false
		})
	}
	if errors.Is(err, dynamo.ErrNoTable) {
		return state.Inspection{Complete: true}, nil
	}
	return in, err
}

// scanRows calls do with each row and tombstone of the sink in the first pages of the table, until do returns false.
// pages is the maximum number of pages. limit is the maximum number of items in a page; nil for DynamoDB's own limit.
// complete is true if scanRows read the whole table.
func (o output) scanRows(
	ctx context.Context, limit *int32, pages int, do func(dynamo.Item) bool,
) (complete bool, err error) {
	scan := &dynamodb.ScanInput{
		TableName:            &o.Name,
		Limit:                limit,
		ConsistentRead:       aws.Bool(true),
		FilterExpression:     aws.String("#tw.#by = :by AND #tw.#view = :view"),
		ProjectionExpression: aws.String("#tw.#birth, #tw.#by, #expires"),
		ExpressionAttributeNames: map[string]string{"#tw": metaAttribute, "#by": metaPipeline, "#view": metaView,
			"#birth": metaBirth, "#expires": expiresAttribute},
		ExpressionAttributeValues: dynamo.Item{":by": dynamo.S(o.Pipeline), ":view": dynamo.S(o.Sink)},
	}
	return o.store.views.ScanPages(ctx, scan, pages, do)
}

// Emptied reports whether the table has lost the rows that the state remembers. It reads only the first pages of the
// table, and returns false if the table has more pages.
func (o output) Emptied(ctx context.Context, birth string) (bool, error) {
	t := state.Target{Pipeline: o.Pipeline, Table: o.Name, View: o.Sink, Birth: birth}
	// The second round is for rows that another process writes between the scan and the reading of the state.
	for range 2 {
		hasRow := false
		pageSize := aws.Int32(100) // small, because usually the first page has a row
		complete, err := o.scanRows(ctx, pageSize, inspectPages, func(dynamo.Item) bool {
			hasRow = true
			return false
		})
		if err != nil || hasRow || !complete {
			return false, err
		}
		if remembers, err := o.store.RemembersRows(ctx, t); err != nil || !remembers {
			return false, err
		}
	}
	return true, nil
}

// Forget does nothing, because a table has no records of deleted rows.
func (output) Forget(context.Context) error { return nil }
