package dynamo

import (
	"context"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// Query yields the items of a query. It reads them consistently, page by page. in.Limit is the size of a page. An item
// that is written during the read may be missing. An error ends the sequence.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	return itemsOf(db.query(ctx, *in, state.Listing{}))
}

// page is the answer of one request of a query or a scan.
type page struct {
	items []Item
	next  Item // key that the next page begins after; empty on the last page
	used  *types.ConsumedCapacity
}

// pages yields the pages of a query or a scan. It calls read for each page, with the key that the page begins after;
// nil for the first page. It passes the used read units to l.Spend.
func pages(ctx context.Context, l state.Listing, read func(start Item) (page, error)) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		var start Item
		for {
			p, err := read(start)
			if err == nil {
				err = p.spend(ctx, l)
			}
			if !yield(p, err) || err != nil || len(p.next) == 0 {
				return
			}
			start = p.next
		}
	}
}

// spend passes the used read units to l.Spend.
func (p page) spend(ctx context.Context, l state.Listing) error {
	if l.Spend == nil || p.used == nil || p.used.CapacityUnits == nil {
		return nil
	}
	return l.Spend(ctx, *p.used.CapacityUnits)
}

// itemsOf yields the items of pages.
func itemsOf(pages iter.Seq2[page, error]) iter.Seq2[Item, error] {
	return seq.FlatMap(pages, func(p page) ([]Item, error) { return p.items, nil })
}

// query yields the pages of a query, read consistently.
func (db *DB) query(ctx context.Context, in dynamodb.QueryInput, l state.Listing) iter.Seq2[page, error] {
	in.ConsistentRead = aws.Bool(true)
	return pages(ctx, l, func(start Item) (page, error) {
		in.ExclusiveStartKey = start
		out, err := callPatiently(ctx, db, "Query", *in.TableName, &in, db.client.Query, l.Throttled)
		if err != nil {
			return page{}, err
		}
		return page{out.Items, out.LastEvaluatedKey, out.ConsumedCapacity}, nil
	})
}

// parsed yields the result of parse for each item. An error ends the sequence.
func parsed[T any](items iter.Seq2[Item, error], parse func(Item) (T, error)) iter.Seq2[T, error] {
	return seq.Map(items, func(item Item) (T, bool, error) {
		v, err := parse(item)
		return v, true, err
	})
}

// readNotes yields the pipeline's notes of one kind, sorted by their sort keys. It reads them as Query does.
func readNotes[T any](ctx context.Context, s *State, kind string, parse func(Item) (T, error)) iter.Seq2[T, error] {
	return parsed(s.db.Query(ctx, s.db.partitionQuery(partition(s.pipeline, kind))), parse)
}

// sorted reads a sequence to its end, and yields its values in order. If the sequence has an error, sorted yields only
// that error.
func sorted[T any](values iter.Seq2[T, error], order func(a, b T) int) iter.Seq2[T, error] {
	return seq.Lazy(func() (iter.Seq2[T, error], error) {
		all, err := seq.Collect(values)
		slices.SortFunc(all, order)
		return seq.Of(all, err), nil
	})
}

// hasItem reports whether a query finds an item.
func (db *DB) hasItem(ctx context.Context, in *dynamodb.QueryInput) (bool, error) {
	for _, err := range db.Query(ctx, in) {
		return err == nil, err
	}
	return false, nil
}

// partitionQuery returns the query for the items of a partition of the state table.
func (db *DB) partitionQuery(pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(db.table), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: Item{":pk": S(pk)},
	}
}

// Scan yields all items of a table, in no order. It reads them as Query does: consistently, and page by page.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput) iter.Seq2[Item, error] {
	s := *in
	s.ConsistentRead = aws.Bool(true)
	return itemsOf(db.scan(ctx, s, state.Listing{}))
}

// ScanPages calls do with each item of the first maxPages pages of a scan, until do returns false. complete is true if
// do was called with all items of the table and never returned false.
func (db *DB) ScanPages(
	ctx context.Context, in *dynamodb.ScanInput, maxPages int, do func(Item) bool,
) (complete bool, err error) {
	read := 0
	for page, err := range db.scan(ctx, *in, state.Listing{}) {
		if err != nil {
			return false, err
		}
		for _, item := range page.items {
			if !do(item) {
				return false, nil
			}
		}
		read++
		if read >= maxPages {
			return len(page.next) == 0, nil
		}
	}
	return true, nil
}

// scan yields the pages of a scan.
func (db *DB) scan(ctx context.Context, in dynamodb.ScanInput, l state.Listing) iter.Seq2[page, error] {
	return pages(ctx, l, func(start Item) (page, error) {
		in.ExclusiveStartKey = start
		out, err := callPatiently(ctx, db, "Scan", *in.TableName, &in, db.client.Scan, l.Throttled)
		if err != nil {
			return page{}, err
		}
		return page{out.Items, out.LastEvaluatedKey, out.ConsumedCapacity}, nil
	})
}

// RefOf returns the reference to an item of the state table.
func (db *DB) RefOf(item Item) Ref {
	return Ref{db.table, Item{attrPK: item[attrPK], attrSK: item[attrSK]}}
}
