package dynamo

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Query yields the items of a query, read consistently page by page. Items that are written
// meanwhile may be missing. in.Limit is the size of a page. A pulled error ends the sequence.
func (db *DB) Query(ctx context.Context, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range db.query(ctx, *in, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// query yields the pages of a query, read consistently. throttled is that of a [state.Listing].
func (db *DB) query(ctx context.Context, in dynamodb.QueryInput, throttled func(err error, wait time.Duration)) iter.Seq2[*dynamodb.QueryOutput, error] {
	return func(yield func(*dynamodb.QueryOutput, error) bool) {
		in.ConsistentRead = aws.Bool(true)
		for more := true; more; more = len(in.ExclusiveStartKey) > 0 {
			out, err := callPatiently(ctx, db, "Query", *in.TableName, &in, db.client.Query, throttled)
			if !yield(out, err) || err != nil {
				return
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}

// parsed yields the results of parse. An error ends the sequence.
func parsed[T any](items iter.Seq2[Item, error], parse func(Item) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range items {
			var v T
			if err == nil {
				v, err = parse(item)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// notes yields the notes of a kind of a pipeline, in the order of their sort keys, as Query does.
func notes[T any](ctx context.Context, s *State, kind string, parse func(Item) (T, error)) iter.Seq2[T, error] {
	return parsed(s.db.Query(ctx, s.db.partitionQuery(partition(s.pipeline, kind))), parse)
}

// sorted reads a sequence to its end and yields its values in order. It yields the error of the sequence alone.
func sorted[T any](values iter.Seq2[T, error], order func(a, b T) int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var all []T
		for v, err := range values {
			if err != nil {
				yield(v, err)
				return
			}
			all = append(all, v)
		}
		slices.SortFunc(all, order)
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// any reports whether a query finds an item.
func (db *DB) any(ctx context.Context, in *dynamodb.QueryInput) (bool, error) {
	for _, err := range db.Query(ctx, in) {
		return err == nil, err
	}
	return false, nil
}

// partitionQuery returns the query for the items of a partition of the state table.
func (db *DB) partitionQuery(pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(db.table), KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: Item{":pk": S(pk)},
	}
}

// Scan yields all items of a table in no order, as Query does.
func (db *DB) Scan(ctx context.Context, in *dynamodb.ScanInput) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		s := *in
		s.ConsistentRead = aws.Bool(true)
		for page, err := range db.scan(ctx, s, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// ScanPages calls do with the items of the first pages of a scan until do returns false. It reports
// whether do saw all items.
func (db *DB) ScanPages(ctx context.Context, in *dynamodb.ScanInput, pages int, do func(Item) bool) (complete bool, err error) {
	for page, err := range db.scan(ctx, *in, nil) {
		if err != nil {
			return false, err
		}
		for _, item := range page.Items {
			if !do(item) {
				return false, nil
			}
		}
		if pages--; pages <= 0 {
			return len(page.LastEvaluatedKey) == 0, nil
		}
	}
	return true, nil
}

// scan yields the pages of a scan. throttled is that of a [state.Listing].
func (db *DB) scan(ctx context.Context, in dynamodb.ScanInput, throttled func(err error, wait time.Duration)) iter.Seq2[*dynamodb.ScanOutput, error] {
	return func(yield func(*dynamodb.ScanOutput, error) bool) {
		for more := true; more; more = len(in.ExclusiveStartKey) > 0 {
			out, err := callPatiently(ctx, db, "Scan", *in.TableName, &in, db.client.Scan, throttled)
			if !yield(out, err) || err != nil {
				return
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}

// inBatches calls do with up to maxKeys items at a time. It ends with the first error.
func inBatches(items iter.Seq2[Item, error], do func(batch []Item) error) error {
	var batch []Item
	for item, err := range items {
		if err != nil {
			return err
		}
		if batch = append(batch, item); len(batch) < maxKeys {
			continue
		}
		if err := do(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return do(batch)
}

// refOf returns the reference to an item of the state table.
func (db *DB) refOf(item Item) Ref {
	return Ref{db.table, Item{attrPK: item[attrPK], attrSK: item[attrSK]}}
}
