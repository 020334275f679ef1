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
	attrFormat = "format" // of the pipeline's rows
)

// format is the layout of a pipeline's rows, in the row of its memory. In the first one, which had no number,
// partition keys began with the kind of the row: such rows are not found, and what was written under them is
// refused as output whose state was lost.
const format = 2

// StoreAge is since when the table remembers for the pipeline: since it was made, or, where somebody else
// made it, since it was first asked. It forgets, by its TTL or by [DB.Purge]. The error is fatal where the
// pipeline's rows have another format.
func (db *DB) StoreAge(ctx context.Context) (state.StoreAge, error) {
	ref := db.noteRef(db.pipeline, "memory", single)
	for {
		item, err := db.one(ctx, ref)
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
		born := Item{attrBorn: nanoseconds(db.now()), attrFormat: N(strconv.Itoa(format))}
		if _, err = db.writeIf(ctx, Put(db.table, with(ref.Key, born), Condition{Text: "attribute_not_exists(pk)"})); err != nil {
			return state.StoreAge{}, err
		}
	}
}

// checkFormat is a fatal error where the row of a memory says that the pipeline's rows have another format.
func (db *DB) checkFormat(memory Item) error {
	found := Digits(memory, attrFormat)
	if found == strconv.Itoa(format) {
		return nil
	}
	hint := "name another state table and other tables, and fill them with `tablewake replay --live --create --rebuild` over the whole history"
	if n, err := strconv.Atoi(found); err == nil && n > format {
		hint = "use a newer tablewake"
	}
	return pipeline.Fatal(&Error{
		Op: "read", Table: db.table, Action: -1, Hint: hint,
		Detail: fmt.Sprintf("the rows of the pipeline %s have the format %s, and this program writes %d", db.pipeline, cmp.Or(found, "1"), format),
	})
}

// Expiry is when what is written now, and may go, is forgotten: after the retention.
func (db *DB) Expiry() time.Time { return db.now().Add(db.retention) }

// stamp makes item one that may go: one that is written now, and that the table
// forgets after its retention. A guard without a row, a contribution
// without a share, and a tombstone are stamped; what has one is put without stamp, and never
// goes.
func (db *DB) stamp(item Item) {
	now := db.now()
	item[attrWritten] = nanoseconds(now)
	item[attrExpires] = N(strconv.FormatInt(now.Add(db.retention).Unix(), 10))
}

// expires is when an item that was stamped may go; the zero time of one that never goes.
func expires(item Item) (time.Time, error) {
	digits := Digits(item, attrExpires)
	if digits == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// with is the attributes of both, in a new item.
func with(key, rest Item) Item {
	item := make(Item, len(key)+len(rest))
	maps.Copy(item, key)
	maps.Copy(item, rest)
	return item
}

// nanoseconds is a time as an N.
func nanoseconds(t time.Time) types.AttributeValue { return N(strconv.FormatInt(t.UnixNano(), 10)) }

// timeAt is the time at name; the zero time where there is none.
func timeAt(item Item, name string) (time.Time, error) {
	digits := Digits(item, name)
	if digits == "" {
		return time.Time{}, nil
	}
	ns, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(0, ns).UTC(), err
}
