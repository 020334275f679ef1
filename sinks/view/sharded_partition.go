package view

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"slices"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// Partition reads one logical partition of a view whose rows are spread over shards ([Options.Shards]). It merges the
// rows of all shards by their sort keys. For a view with the partition key 'STATUS#{Status}#{@shard}' and 10 shards, a
// service sets these fields:
//
//	pending := view.Partition{
//		Table: view.Table{Name: "shop-views", PK: "PK", SK: "SK"},
//		Keys:  view.ShardKeys(10, "STATUS#pending#", ""),
//	}
//	for row, err := range pending.Rows(ctx, reader, view.PartitionQuery{Limit: 20, Cursor: cursor}) {
type Partition struct {
	Table Table        // table of the view; it must have a sort key
	Keys  []item.Value // required: partition keys of the shards
	View  string       // selects the rows of this sink. Default: rows of all sinks
}

// ShardKeys returns the partition keys of all shards. before and after are the texts around {@shard} in the view's
// partition key.
func ShardKeys(shards int, before, after string) []item.Value {
	keys := make([]item.Value, shards)
	for i := range keys {
		keys[i] = item.StringValue(before + strconv.Itoa(i) + after)
	}
	return keys
}

// PartitionQuery selects the rows of a [Partition] that [Partition.Rows] yields.
type PartitionQuery struct {
	SKPrefix string     // only rows whose sort key is an S with this prefix. Default: all
	From, To item.Value // first and last sort key, both inclusive, in the direction of the query. Default: all rows
	Limit    int        // maximum number of rows. Default: no limit
	Reverse  bool       // the greatest sort key comes first. Default: the least comes first

	// Cursor is the result of [Partition.Cursor] for a row. The query yields only rows after that row, in its
	// direction. Default: it yields all rows.
	Cursor string
}

// ErrCursor is the error of a query whose cursor was not made by [Partition.Cursor] for the same partition.
var ErrCursor = errs.New("not a cursor of this partition: pass one that a query of it returned, unchanged")

// Cursor returns the cursor of a row that Rows yielded, as base64url text. The cursor contains the sort key and the
// shard of the row. Together they determine where to continue in every shard. The cursor also contains a checksum, so
// that another partition refuses it. It stays valid if rows are written or removed. It is not encrypted, so give it
// only to people who may see the row.
func (p Partition) Cursor(r Row) string {
	shard := max(0, slices.IndexFunc(p.Keys, r.PK.Equal))
	cursor := binary.AppendUvarint([]byte{cursorFormat}, uint64(shard))
	cursor = append(cursor, sortText(r.SK)...)
	cursor = binary.BigEndian.AppendUint32(cursor, p.checksum(cursor))
	return base64.RawURLEncoding.EncodeToString(cursor)
}

// cursorFormat is the first byte of a cursor.
const cursorFormat = 2

// checksum returns the checksum of a cursor for this partition.
func (p Partition) checksum(cursor []byte) uint32 {
	b := append(slices.Clone(cursor), p.Table.Name...)
	for _, key := range p.Keys {
		b = append(append(b, 0), sortText(key)...)
	}
	return crc32.ChecksumIEEE(b)
}

// position is the position of a row in the order of a partition.
type position struct {
	sk    item.Value
	shard int
}

func (p Partition) parseCursor(text string) (position, error) {
	cursor, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(cursor) < 1+crc32.Size || cursor[0] != cursorFormat {
		return position{}, ErrCursor
	}
	end := len(cursor) - crc32.Size
	content, checksum := cursor[:end], cursor[end:]
	if binary.BigEndian.Uint32(checksum) != p.checksum(content) {
		return position{}, ErrCursor
	}

	shard, shardBytes := binary.Uvarint(content[1:])
	if shardBytes <= 0 || shard >= uint64(len(p.Keys)) {
		return position{}, ErrCursor
	}
	sk, err := state.ParseSortable(string(content[1+shardBytes:]))
	if err != nil || sk.Kind() == item.KindBOOL {
		return position{}, ErrCursor
	}
	return position{sk, int(shard)}, nil
}

// Rows yields the rows of all shards, sorted by sort key: S and B by their bytes, N by number. A row that is written
// during the read may or may not be seen. The sequence ends with the first error, which is [ErrCursor] or comes from
// the reader.
//
// Rows reads the shards page by page. It reads several first pages at the same time. One page of each shard is in
// memory. With a Limit, the number of rows in a page is Limit divided by the number of shards, plus two, and at most
// Limit. So a query reads only a few rows more than it yields, if the rows are spread evenly. Without a Limit, a page
// has at least 25 rows, and the first pages together have 1,000.
func (p Partition) Rows(ctx context.Context, r Reader, q PartitionQuery) iter.Seq2[Row, error] {
	return seq.Lazy(func() (iter.Seq2[Row, error], error) {
		shards, err := p.openShards(r, q)
		if err == nil {
			err = readInParallel(ctx, len(shards), func(ctx context.Context, i int) error { return shards[i].fill(ctx) })
		}
		if err != nil {
			return nil, err
		}

		sources := make([]pullRows, len(shards))
		for i := range shards {
			sources[i] = func() (Row, error, bool) { return shards[i].next(ctx) }
		}
		return seq.Limit(mergeRows(sources, bySortKey, q.Reverse), q.Limit), nil
	})
}

// The numbers of rows in pages, for a query without a limit.
const (
	firstPagesRows = 1000 // rows in the first pages of all shards together
	minPageRows    = 25   // minimum number of rows in a page of a shard
)

// openShards returns the shards, before their first pages are read.
func (p Partition) openShards(r Reader, q PartitionQuery) ([]shardPages, error) {
	n := len(p.Keys)
	switch {
	case n == 0:
		return nil, errs.New("view: a Partition without Keys: pass the partition keys of its shards, by ShardKeys")
	case p.Table.SK == "":
		return nil, errs.Errorf(
			"view: the table %s has no sort key, so that a partition is one row: read it with Reader.Rows",
			redact.Safe(p.Table.Name))
	}
	pageRows := max(minPageRows, firstPagesRows/n)
	if q.Limit > 0 {
		pageRows = min(q.Limit, q.Limit/n+2)
	}
	shards := make([]shardPages, n)
	for i, pk := range p.Keys {
		shards[i] = shardPages{
			partition: p, reader: r,
			query: Query{PK: pk, SKPrefix: q.SKPrefix, From: q.From, To: q.To, Reverse: q.Reverse, Limit: pageRows},
		}
	}
	return shards, p.skipToCursor(shards, q)
}

// skipToCursor makes each shard begin after the rows that were already yielded at the cursor of the query.
func (p Partition) skipToCursor(shards []shardPages, q PartitionQuery) error {
	if q.Cursor == "" {
		return nil
	}
	cursor, err := p.parseCursor(q.Cursor)
	if err != nil {
		return err
	}
	if q.startsAfter(cursor.sk) {
		return nil // the cursor belongs to another query and is ignored
	}
	for i := range shards {
		shards[i].query.From, shards[i].query.After = cursor.sk, cursor.includes(i, q.Reverse)
	}
	return nil
}

// startsAfter reports whether the query starts after the sort key sk, in its direction.
func (q PartitionQuery) startsAfter(sk item.Value) bool {
	return q.From.Exists() && comesAfter(q.From, sk, q.Reverse)
}

// includes reports whether the row of shard with the sort key of p was already yielded when the query stood at p. Rows
// with equal sort keys are yielded in the order of their shards, or in reverse.
func (p position) includes(shard int, reverse bool) bool {
	if reverse {
		return shard >= p.shard
	}
	return shard <= p.shard
}

// shardPages reads one shard page by page.
type shardPages struct {
	partition Partition
	reader    Reader
	query     Query // query of the next page
	rows      []Row // rows that were read, but that next has not returned yet
	ended     bool  // the shard has no more pages
}

// next returns the next row of the shard; false at its end.
func (s *shardPages) next(ctx context.Context) (row Row, err error, ok bool) {
	if len(s.rows) == 0 {
		if err := s.fill(ctx); err != nil || len(s.rows) == 0 {
			return Row{}, err, false
		}
	}
	row, s.rows = s.rows[0], s.rows[1:]
	return row, nil, true
}

// fill reads the next page. If that page has only rows of other sinks, fill reads more pages. If a page has fewer rows
// than its limit, the shard has ended.
func (s *shardPages) fill(ctx context.Context) error {
	s.rows = s.rows[:0]
	for !s.ended && len(s.rows) == 0 {
		rowsInPage := 0
		for row, err := range s.reader.Rows(ctx, s.partition.Table, s.query) {
			if err != nil {
				return err
			}
			rowsInPage++
			s.query.From, s.query.After = row.SK, true
			if s.partition.View == "" || row.View == s.partition.View {
				s.rows = append(s.rows, row)
			}
		}
		s.ended = rowsInPage < s.query.Limit
	}
	return nil
}
