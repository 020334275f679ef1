package sinktest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Stream is a stream in two forms: as plain records for models, and as decoded changes for sinks. Changes[i] is the
// decoded Records[i].
type Stream struct {
	Records []Record
	Changes []*record.Change
}

// GoString keeps rapid's log of a failed property short. The text of the failure lists the records.
func (s *Stream) GoString() string { return fmt.Sprintf("a stream of %d records", len(s.Records)) }

// Items returns the items that exist after the last record, in no order.
func (s *Stream) Items() []Item {
	last := make(map[string]Item)
	for _, r := range s.Records {
		last[r.KeyText()] = r.New
	}
	var items []Item
	for _, item := range last {
		if item != nil {
			items = append(items, item)
		}
	}
	return items
}

// Build makes a stream from records. A record without Sequence gets the next sequence number. A record without Keys
// gets the PK and SK of its images.
func Build(records ...Record) (*Stream, error) {
	complete(records)
	s := &Stream{Records: records}
	page := record.NewDecoder(record.DecoderOptions{}).DecodeLines(encode(records))
	if len(page.Errors) > 0 {
		return nil, fmt.Errorf("sinktest: a generated record does not decode: %w", page.Errors[0])
	}
	decoded := page.Changes
	for _, r := range records {
		if r.EventName == snapshot {
			c, err := snapshotOf(r)
			if err != nil {
				return nil, err
			}
			s.Changes = append(s.Changes, c)
			continue
		}
		if len(decoded) == 0 {
			return nil, fmt.Errorf("sinktest: %d records decoded to %d changes", len(records), len(page.Changes))
		}
		s.Changes = append(s.Changes, &decoded[0])
		decoded = decoded[1:]
	}
	return s, nil
}

// complete sets the missing keys and sequence numbers. Snapshots have no sequence numbers.
func complete(records []Record) {
	next := newSequence(new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil))
	for i := range records {
		r := &records[i]
		if r.Keys == nil {
			image := r.New
			if image == nil {
				image = r.Old
			}
			r.Keys = Item{"PK": image["PK"], "SK": image["SK"]}
		}
		if r.Sequence == "" && r.EventName != snapshot {
			r.Sequence = next(1)
		}
	}
}

// encode returns the records that are not snapshots, one per line.
func encode(records []Record) []byte {
	var lines bytes.Buffer
	for _, r := range records {
		if r.EventName != snapshot {
			lines.Write(r.JSON())
			lines.WriteByte('\n')
		}
	}
	return lines.Bytes()
}

const snapshot = "SNAPSHOT"

// snapshotOf returns the change that a backfill makes of the item of r. The version of the change is below all versions
// of the stream.
func snapshotOf(r Record) (*record.Change, error) {
	o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: StreamARN},
		Keys: slices.Sorted(maps.Keys(r.Keys))}
	if r.EpochZero {
		o.DecoderOptions = record.DecoderOptions{EpochZero: true, Table: Table}
	}
	page := record.NewSnapshotDecoder(o).DecodeLines(mustJSON(map[string]any{"Item": r.New}))
	if len(page.Errors) > 0 {
		return nil, fmt.Errorf("sinktest: a generated item does not decode: %w", page.Errors[0])
	}
	return &page.Changes[0], nil
}

// newSequence returns a function that returns the next sequence number: the preceding number plus add. The first
// preceding number is start.
func newSequence(start *big.Int) func(add int64) string {
	last := new(big.Int).Set(start)
	return func(add int64) string { return last.Add(last, big.NewInt(add)).String() }
}

// StreamOptions shape random streams.
type StreamOptions struct {
	Keys    map[string]string // key attributes and their types: S, N or B. Default: PK and SK, both S
	Items   int               // maximum number of items. Default: 4
	Records int               // maximum number of records. Default: 30
	// Snapshots makes the stream begin with changes of a backfill, for items that are older than the stream
	Snapshots bool

	flaws bool // images may have flaws; see [FlawWhen]
}

func (o StreamOptions) withDefaults() StreamOptions {
	if len(o.Keys) == 0 {
		o.Keys = map[string]string{"PK": "S", "SK": "S"}
	}
	o.Items = cmp.Or(o.Items, 4)
	o.Records = cmp.Or(o.Records, 30)
	return o
}

// Streams generates random streams. Items are inserted, modified, removed by users and by TTL, and inserted again. Some
// records have an undocumented event name. Each of these attributes may be missing in an item:
//
//	Type       S: Order, User
//	Status     S: paid, shipped, texts with separators and escapes, or empty; or NULL
//	Rank       N: -2 to 2
//	CreatedAt  S: RFC 3339, one of three days
//	Total      N: any number of DynamoDB's range
//	Any        a value of any type, nested
//	Flaw...    in the property Flawed, attributes such as [FlawKey]
//	Lines      L of up to 3 M, each with or without sku (S: a, b) and qty (N: 0 to 3)
func Streams(o StreamOptions) *rapid.Generator[*Stream] {
	o = o.withDefaults()
	return rapid.Custom(func(t *rapid.T) *Stream {
		s, err := Build(drawRecords(t, o)...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
