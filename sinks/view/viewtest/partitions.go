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

// queriesFromAndTo checks queries with From and To, in both directions.
func queriesFromAndTo(t *testing.T, s Store, target view.Target) {
	for _, sk := range []string{"a", "b1", "b2", "b3", "c"} {
		apply(t, s, target, putRow(t, "p", sk, 1, ""), putRow(t, "q", sk, 1, ""))
	}
	apply(t, s, target, tombstone(t, "p", "b0", 1))
	for _, q := range []struct {
		query view.Query
		want  string
	}{
		{view.Query{Reverse: true}, "c b3 b2 b1 a"},
		{view.Query{Reverse: true, Limit: 2}, "c b3"},
		{view.Query{Reverse: true, SKPrefix: "b"}, "b3 b2 b1"},
		{view.Query{From: item.StringValue("b2")}, "b2 b3 c"},
		{view.Query{From: item.StringValue("b2"), After: true}, "b3 c"},
		{view.Query{From: item.StringValue("b2"), After: true, Limit: 1}, "b3"},
		{view.Query{From: item.StringValue("b2"), Reverse: true}, "b2 b1 a"},
		{view.Query{From: item.StringValue("b2"), Reverse: true, After: true}, "b1 a"},
		{view.Query{From: item.StringValue("b15")}, "b2 b3 c"},
		{view.Query{From: item.StringValue("d")}, ""},
		{view.Query{From: item.StringValue("b2"), SKPrefix: "b"}, "b2 b3"},
		{view.Query{From: item.StringValue("b2"), SKPrefix: "b", Reverse: true, After: true}, "b1"},
		{view.Query{From: item.StringValue("a"), SKPrefix: "b"}, "b1 b2 b3"},
		{view.Query{From: item.StringValue("a"), SKPrefix: "b", Reverse: true}, ""},
		{view.Query{From: item.StringValue("c"), SKPrefix: "b"}, ""},
		{view.Query{From: item.StringValue("c"), SKPrefix: "b", Reverse: true}, "b3 b2 b1"},
		{view.Query{To: item.StringValue("b2")}, "a b1 b2"},
		{view.Query{To: item.StringValue("b2"), Reverse: true}, "c b3 b2"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b2")}, "b1 b2"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b25"), After: true, Limit: 1}, "b2"},
		{view.Query{From: item.StringValue("b2"), To: item.StringValue("b0"), Reverse: true}, "b2 b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("a")}, ""},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1")}, "b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1"), Reverse: true}, "b1"},
		{view.Query{From: item.StringValue("b1"), To: item.StringValue("b1"), After: true}, ""},
		{view.Query{From: item.StringValue("b15"), To: item.StringValue("b15")}, ""},
		{view.Query{To: item.StringValue("b2"), SKPrefix: "b"}, "b1 b2"},
	} {
		q.query.PK = item.StringValue("p")
		got := sortKeys(t, s.Rows(t.Context(), target.Table, q.query))
		checkEqual(t, fmt.Sprintf("%+v", q.query), got, strings.Fields(q.want))
	}
	both := all(t, s.Rows(t.Context(), target.Table, view.Query{Reverse: true, SKPrefix: "c"}))
	if len(both) != 2 || !both[0].PK.Equal(item.StringValue("q")) {
		t.Errorf("a read of all partitions in reverse begins with %v", both)
	}
	for _, bound := range []view.Query{{From: item.StringValue("b")}, {To: item.StringValue("b")}} {
		for _, err := range s.Rows(t.Context(), target.Table, bound) {
			if err == nil {
				t.Error("a sort key without a partition key bounds a read")
			}
		}
	}
}

// partitionsMerge checks reads of a partition with shards, page by page, with sort keys of each type.
func partitionsMerge(t *testing.T, s Store, target view.Target) {
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
			want = append(want, put((i*7+i/3)%3, key))
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

// partitionsBetween checks that a read of a partition obeys From and To, also with a cursor between them or before
// them.
func partitionsBetween(t *testing.T, s Store, target view.Target) {
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

// walk reads a partition in pages of limit rows. Each page begins at the cursor of the last row before it. If limit is
// 0, it reads all rows in one page.
func walk(t *testing.T, s view.Reader, p view.Partition, limit int, reverse bool) (rows []string) {
	t.Helper()
	for cursor := ""; ; {
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

// partitionsReadFew checks that a page of a partition reads only a few more rows than it returns. It also checks that
// View selects the rows of one sink.
func partitionsReadFew(t *testing.T, s Store, target view.Target) {
	other := target
	other.View = "two"
	p := view.Partition{Table: target.Table, Keys: view.ShardKeys(5, "p", "")}
	var want []string
	for i := range 200 {
		pk, sk := fmt.Sprintf("p%d", i%5), fmt.Sprintf("%03d", i)
		apply(t, s, target, putRow(t, pk, sk, 1, ""))
		apply(t, s, other, putRow(t, pk, sk+"b", 1, ""))
		want = append(want, sk)
	}
	counting := &countingReader{Reader: s}
	if n := len(all(t, p.Rows(t.Context(), counting, view.PartitionQuery{Limit: 20}))); n != 20 || counting.rows > 40 {
		t.Errorf("%d rows of a page of 20 were made of %d", n, counting.rows)
	}
	if want := len(p.Keys); counting.calls > 2*want {
		t.Errorf("a page of 20 rows of %d shards made %d queries", want, counting.calls)
	}
	p.View = target.View
	for _, limit := range []int{0, 7} {
		var got []string
		cursor := ""
		for more := true; more; more = limit > 0 && len(got)%limit == 0 {
			for _, r := range all(t, p.Rows(t.Context(), s, view.PartitionQuery{Limit: limit, Cursor: cursor})) {
				sk, _ := r.SK.Text()
				got = append(got, sk)
				cursor = p.Cursor(r)
			}
		}
		checkEqual(t, "the rows of one sink", got, want)
	}
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
			if rows++; !yield(r, err) {
				break
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls++
		c.rows += rows
	}
}
