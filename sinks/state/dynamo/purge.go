package dynamo

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Purger = (*DB)(nil)

// Purge deletes the state of the pipeline that only refuses late changes and was written before a time. That is
// tombstones, guards without a row, and contributions without shares. It deletes an item on condition that the item is
// unchanged. It reads the whole table, so it needs the right to Scan without a condition on keys. If TTL is enabled for
// the table, DynamoDB deletes these items by itself, without cost.
func (db *DB) Purge(ctx context.Context, before time.Time) (int, error) {
	in := &dynamodb.ScanInput{
		TableName:            aws.String(db.table),
		ProjectionExpression: aws.String("pk, sk, written"),
		FilterExpression:     aws.String("begins_with(pk, :own) AND attribute_exists(expires) AND written < :before"),
		ExpressionAttributeValues: Item{":own": S(string(appendKind(nil, db.pipeline, ""))),
			":before": N(strconv.FormatInt(before.UnixNano(), 10))},
	}
	var purged atomic.Int64
	for batch, err := range seq.Chunk(db.Scan(ctx, in), maxKeys) {
		if err != nil {
			return int(purged.Load()), err
		}
		err = db.each(ctx, len(batch), func(i int) error {
			unchanged := Condition{
				Text: "attribute_exists(expires) AND written = :written", Values: Item{":written": batch[i][attrWritten]},
			}
			deleted, err := db.writeIf(ctx, Delete(db.RefOf(batch[i]), unchanged))
			if deleted {
				purged.Add(1)
			}
			return err
		})
		if err != nil {
			return int(purged.Load()), err
		}
	}
	return int(purged.Load()), nil
}
