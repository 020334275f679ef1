package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.AgeReporter = (*DB)(nil)

const (
	attrBorn   = "born"   // Unix nanoseconds
	attrFormat = "format" // number of the layout of the pipeline's items
)

// Format is the number of the layout of a pipeline's items. It is stored in the pipeline's memory item. The memory item
// is an item of the state table. It also has the time when the state was created.
//
// Format 1 had no number, and its partition keys began with the kind of the item. This program does not find items with
// such keys. Output of format 1 therefore appears to have no state, and is refused. Format 3 added the
// stages of births, because a program of format 2 would write to a sink that waits for its backfill. Format 4 added the
// repairs of gaps.
const Format = 4

// StoreAge returns the time when the pipeline's state began: when [DB.CreateState] was called, or else when StoreAge
// was first called. Forgets is always true, because the TTL of the table or [DB.Purge] deletes items. The error is
// fatal if the pipeline's items have another format.
func (db *DB) StoreAge(ctx context.Context) (state.StoreAge, error) {
	ref := db.noteRef(db.pipeline, "memory", onlySortKey)
	for {
		item, err := db.getOne(ctx, ref)
		if err != nil {
			return state.StoreAge{}, err
		}
		if item != nil {
			return db.parseAge(item)
		}

		// If another process writes the item first, the next round reads it.
		born := Item{attrBorn: nanoseconds(db.now()), attrFormat: N(strconv.Itoa(Format))}
		if _, err = db.writeIf(ctx, Put(db.table, withAttributes(ref.Key, born), notStored)); err != nil {
			return state.StoreAge{}, err
		}
	}
}

func (db *DB) parseAge(item Item) (state.StoreAge, error) {
	if err := db.checkFormat(item); err != nil {
		return state.StoreAge{}, err
	}
	born, err := timeAt(item, attrBorn)
	if err != nil {
		return state.StoreAge{}, db.Damaged("since when it remembers", err)
	}
	return state.StoreAge{Born: born, Forgets: true}, nil
}

// checkFormat returns a fatal error if the memory item has another format.
func (db *DB) checkFormat(stored Item) error {
	found := Digits(stored, attrFormat)
	if found == strconv.Itoa(Format) {
		return nil
	}

	hint := "name another state table and other tables, and fill them with `tablewake replay --live --create --rebuild` over the whole history"
	if n, err := strconv.Atoi(found); err == nil && n > Format {
		hint = "use a newer tablewake"
	}
	return pipeline.Fatal(&Error{
		Op: "read", Table: db.table, Action: -1, Hint: hint,
		Detail: fmt.Sprintf("the rows of the pipeline %s have the format %s, and this program writes %d", db.pipeline,
			cmp.Or(found, "1"), Format),
	})
}

// Expiry returns the time when an item that is written now may expire.
func (db *DB) Expiry() time.Time { return db.now().Add(db.retention) }

// setExpiry makes an item expire after the retention. It is called for three kinds of items: guards without a row,
// contributions without shares, and tombstones.
func (db *DB) setExpiry(item Item) {
	now := db.now()
	item[attrWritten] = nanoseconds(now)
	item[attrExpires] = N(strconv.FormatInt(now.Add(db.retention).Unix(), 10))
}

// expiryOf returns the time when an item may expire, or the zero time if it never expires.
func expiryOf(item Item) (time.Time, error) {
	digits := Digits(item, attrExpires)
	if digits == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// withAttributes returns a new item with the attributes of key and of rest.
func withAttributes(key, rest Item) Item {
	item := make(Item, len(key)+len(rest))
	maps.Copy(item, key)
	maps.Copy(item, rest)
	return item
}

// nanoseconds returns a time as an N.
func nanoseconds(t time.Time) types.AttributeValue { return N(strconv.FormatInt(t.UnixNano(), 10)) }

// timeAt returns the time in item[name], or the zero time if the item does not have this attribute.
func timeAt(item Item, name string) (time.Time, error) {
	digits := Digits(item, name)
	if digits == "" {
		return time.Time{}, nil
	}
	ns, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(0, ns).UTC(), err
}

var _ state.Purger = (*DB)(nil)

// Purge deletes the pipeline's tombstones, guards without a row, and contributions without shares that were written
// before a time. These items serve only to refuse late changes. Purge deletes each item on condition that the item is
// unchanged. Purge reads the whole table, so it needs the right to Scan without a condition on keys. If TTL is enabled
// for the table, DynamoDB deletes these items by itself, without cost.
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
