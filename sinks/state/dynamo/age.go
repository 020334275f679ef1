package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.AgeReporter = (*DB)(nil)

const (
	attrBorn   = "born"   // Unix nanoseconds
	attrFormat = "format" // number of the layout of the pipeline's items
)

// Format is the number of the layout of a pipeline's items, stored in its memory item. In format 1, which had no
// number, partition keys began with the kind of the item. Such items are not found, so output that was written
// under them is refused because its state is lost. Format 3 added the stages of births: a program of format 2 would
// write to a sink that waits for its backfill. Format 4 added the repairs of gaps.
const Format = 4

// StoreAge returns when the memory of the pipeline began: when [DB.CreateState] made the table or, for a table
// made otherwise, when StoreAge was called first. The table forgets, by its TTL or by [DB.Purge]. The error is fatal
// if the pipeline's items have another format.
func (db *DB) StoreAge(ctx context.Context) (state.StoreAge, error) {
	ref := db.noteRef(db.pipeline, "memory", single)
	for {
		item, err := db.getOne(ctx, ref)
		if err == nil && item != nil {
			err = db.checkFormat(item)
		}
		if err != nil {
			return state.StoreAge{}, err
		}
		if item != nil {
			born, err := timeAt(item, attrBorn)
			if err != nil {
				return state.StoreAge{}, db.Damaged("since when it remembers", err)
			}
			return state.StoreAge{Born: born, Forgets: true}, nil
		}
		born := Item{attrBorn: nanoseconds(db.now()), attrFormat: N(strconv.Itoa(Format))}
		if _, err = db.writeIf(ctx, Put(db.table, with(ref.Key, born), Condition{Text: "attribute_not_exists(pk)"})); err != nil {
			return state.StoreAge{}, err
		}
	}
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
		Detail: fmt.Sprintf("the rows of the pipeline %s have the format %s, and this program writes %d", db.pipeline, cmp.Or(found, "1"), Format),
	})
}

// Expiry returns when an item that is written now may expire.
func (db *DB) Expiry() time.Time { return db.now().Add(db.retention) }

// stamp makes an item expire after the retention. Guards without a row, contributions without shares and tombstones
// are stamped. Other items are written without a stamp, so that they never expire.
func (db *DB) stamp(item Item) {
	now := db.now()
	item[attrWritten] = nanoseconds(now)
	item[attrExpires] = N(strconv.FormatInt(now.Add(db.retention).Unix(), 10))
}

// expires returns when a stamped item may expire; the zero time if the item is not stamped.
func expires(item Item) (time.Time, error) {
	digits := Digits(item, attrExpires)
	if digits == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// with returns a new item with the attributes of both.
func with(key, rest Item) Item {
	item := make(Item, len(key)+len(rest))
	maps.Copy(item, key)
	maps.Copy(item, rest)
	return item
}

// nanoseconds returns a time as an N.
func nanoseconds(t time.Time) types.AttributeValue { return N(strconv.FormatInt(t.UnixNano(), 10)) }

// timeAt returns the time at name; the zero time if there is none.
func timeAt(item Item, name string) (time.Time, error) {
	digits := Digits(item, name)
	if digits == "" {
		return time.Time{}, nil
	}
	ns, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(0, ns).UTC(), err
}
