package viewtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// checkPartitionsMerge checks reads of a partition with shards, page by page, with sort keys of each type.
func checkPartitionsMerge(t *testing.T, s Store, target view.Target) {
	for name, keys := range map[string][]string{
		"S": {`{"S":"A"}`, `{"S":"a"}`, `{"S":"a\u0000"}`, `{"S":"a b"}`, `{"S":"b"}`, `{"S":"é"}`, `{"S":"😀"}`},
		"N": {
			`{"N":"-100000000000000000000"}`, `{"N":"-10"}`, `{"N":"-1.5"}`, `{"N":"-1"}`, `{"N":"0"}`, `{"N":"0.5"}`,
			`{"N":"9"}`, `{"N":"10"}`, `{"N":"12345678901234567890123456789012345678"}`,
		},
		"B": {`{"B":"AA=="}`, `{"B":"AAA="}`, `{"B":"AQ=="}`, `{"B":"fw=="}`, `{"B":"gA=="}`, `{"B":"/w=="}`},
	} {
		target := target
		target.Name = "shards of " + name
		p := view.Partition{Table: target.Table, Keys: view.ShardKeys(4, "S#", "#x")}
		var want []string
		put := func(shard int, key string) string {
			m := putRow(t, fmt.Sprintf("S#%d#x", shard), "", 1, "")
			m.SK = parseValue(t, key)
			apply(t, s, target, m)
			return fmt.Sprintf("%d %s", shard, m.SK)
		}
		for i, key := range keys {
			shard := (i*7 + i/3) % 3 // neither in turn nor one shard after the other
			want = append(want, put(shard, key))
			if i == len(keys)/2 { // a sort key in two shards
				want = append(want, put(3, key))
			}
		}
		put(4, keys[0]) // another partition
		for _, reverse := range []bool{false, true} {
			if reverse {
				slices.Reverse(want)
			}
			for limit := range len(want) + 2 {
				what := fmt.Sprintf("%s, reverse %t, limit %d", name, reverse, limit)
				checkEqual(t, what, walk(t, s, p, limit, reverse), want)
			}
		}
	}
}

// checkPartitionsBetween checks that a read of a partition obeys From and To, also with a cursor that is between or
// before these sort keys.
func checkPartitionsBetween(t *testing.T, s Store, target view.Target) {
	p := view.Partition{Table: target.Table, Keys: view.ShardKeys(3, "between", "")}
	for i, sk := range []string{"a", "b", "c", "d", "e", "f"} {
		apply(t, s, target, putRow(t, fmt.Sprintf("between%d", i%3), sk, 1, ""))
	}
	first := all(t, p.Rows(t.Context(), s, view.PartitionQuery{Limit: 1}))
	for _, q := range []struct {
		from, to, cursor string
		reverse          bool
		want             string
	}{
		{"b", "d", "", false, "b c d"},
		{"d", "b", "", true, "d c b"},
		{"", "b", "", false, "a b"},
		{"bb", "", "", false, "c d e f"},
		{"b", "e", p.Cursor(all(t, p.Rows(t.Context(), s, view.PartitionQuery{Limit: 3}))[2]), false, "d e"},
		{"c", "d", p.Cursor(first[0]), false, "c d"},
	} {
		query := view.PartitionQuery{Reverse: q.reverse, Cursor: q.cursor}
		if q.from != "" {
			query.From = item.StringValue(q.from)
		}
		if q.to != "" {
			query.To = item.StringValue(q.to)
		}
		checkEqual(t, fmt.Sprintf("%+v", q), sortKeys(t, p.Rows(t.Context(), s, query)), strings.Fields(q.want))
	}
}

// maxWalkedRows is more than the number of rows in any partition of the tests.
const maxWalkedRows = 1000

// walk reads a partition in pages of limit rows. Each page begins after the last row of the preceding page, at the
// cursor of that row. If limit is 0, walk reads all rows in one page. The result has a text for each row: the shard and
// the sort key.
func walk(t *testing.T, s view.Reader, p view.Partition, limit int, reverse bool) (rows []string) {
	t.Helper()
	cursor := ""
	for {
		page := all(t, p.Rows(t.Context(), s, view.PartitionQuery{Limit: limit, Reverse: reverse, Cursor: cursor}))
		for _, r := range page {
			pk, _ := r.PK.Text()
			rows = append(rows, fmt.Sprintf("%s %s", strings.Trim(pk, "S#x"), r.SK))
			cursor = p.Cursor(r)
		}
		if len(rows) > maxWalkedRows {
			t.Fatalf("pages of %d rows do not end: %v", limit, rows[:10])
		}
		if limit == 0 || len(page) < limit {
			return rows
		}
	}
}

// checkPartitionsReadFew checks that a page of a partition reads only a few more rows than it returns. It also checks
// that View selects the rows of one sink.
func checkPartitionsReadFew(t *testing.T, s Store, target view.Target) {
	other := target
	other.View = "two"
	const shards, pageRows = 5, 20
	p := view.Partition{Table: target.Table, Keys: view.ShardKeys(shards, "p", "")}
	var want []string
	for i := range 200 {
		pk, sk := fmt.Sprintf("p%d", i%shards), fmt.Sprintf("%03d", i)
		apply(t, s, target, putRow(t, pk, sk, 1, ""))
		apply(t, s, other, putRow(t, pk, sk+"b", 1, ""))
		want = append(want, sk)
	}

	counting := &countingReader{Reader: s}
	page := all(t, p.Rows(t.Context(), counting, view.PartitionQuery{Limit: pageRows}))
	if len(page) != pageRows || counting.rows > 2*pageRows {
		t.Errorf("%d rows of a page of %d were made of %d", len(page), pageRows, counting.rows)
	}
	if counting.calls > 2*shards {
		t.Errorf("a page of %d rows of %d shards made %d queries", pageRows, shards, counting.calls)
	}

	p.View = target.View
	checkEqual(t, "the rows of one sink", sortKeys(t, p.Rows(t.Context(), s, view.PartitionQuery{})), want)
	checkEqual(t, "the rows of one sink, page by page", walkedSortKeys(walk(t, s, p, 7, false)), want)
	last := sortKeys(t, p.Rows(t.Context(), s, view.PartitionQuery{SKPrefix: "19", Limit: 3, Reverse: true}))
	checkEqual(t, "the last rows of a prefix", last, []string{"199", "198", "197"})
	for _, cursor := range []string{"eA", "!", "AABhYQ", "AQ", "AQA", "AQB6cQ", "Af______", "AQBkMQ"} {
		for _, err := range p.Rows(t.Context(), s, view.PartitionQuery{Cursor: cursor}) {
			if !errors.Is(err, view.ErrCursor) {
				t.Errorf("the cursor %q: got the error %v, want ErrCursor", cursor, err)
			}
		}
	}
}

// countingReader counts queries, and the rows that they return.
type countingReader struct {
	view.Reader
	mu          sync.Mutex
	calls, rows int
}

func (c *countingReader) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		rows := 0
		for r, err := range c.Reader.Rows(ctx, t, q) {
			rows++
			if !yield(r, err) {
				break
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls++
		c.rows += rows
	}
}
