package dynamo

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Purger = (*DB)(nil)

// Purge deletes the tombstones, the guards without a row and the contributions without shares of the pipeline that
// were written before a time, each on the condition that it is unchanged. It reads the whole table, so it needs the
// right to Scan without a condition on keys. If the table's TTL is enabled, DynamoDB does the same without cost.
func (db *DB) Purge(ctx context.Context, before time.Time) (int, error) {
	in := &dynamodb.ScanInput{
		TableName:                 aws.String(db.table),
		ProjectionExpression:      aws.String("pk, sk, written"),
		FilterExpression:          aws.String("begins_with(pk, :own) AND attribute_exists(expires) AND written < :before"),
		ExpressionAttributeValues: Item{":own": S(string(appendKind(nil, db.pipeline, ""))), ":before": N(strconv.FormatInt(before.UnixNano(), 10))},
	}
	purged := 0
	var batch []Item
	for item, err := range db.Scan(ctx, in) {
		if err != nil {
			return purged, err
		}
		if batch = append(batch, item); len(batch) < maxKeys {
			continue
		}
		n, err := db.deleteUnchanged(ctx, batch)
		if purged += n; err != nil {
			return purged, err
		}
		batch = batch[:0]
	}
	n, err := db.deleteUnchanged(ctx, batch)
	return purged + n, err
}

// deleteUnchanged deletes items that were not written since they were read, and returns how many.
func (db *DB) deleteUnchanged(ctx context.Context, items []Item) (int, error) {
	var n atomic.Int64
	err := db.each(ctx, len(items), func(i int) error {
		ref := Ref{db.table, Item{attrPK: items[i][attrPK], attrSK: items[i][attrSK]}}
		deleted, err := db.writeIf(ctx, Delete(ref, Condition{
			Text: "attribute_exists(expires) AND written = :written", Values: Item{":written": items[i][attrWritten]},
		}))
		if deleted {
			n.Add(1)
		}
		return err
	})
	return int(n.Load()), err
}
