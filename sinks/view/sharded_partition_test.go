package view_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// partitionOf returns a store with orders in the shards of one partition, the partition, and the sort keys of all rows.
func partitionOf(t testing.TB, shards, orders int) (*shelf, view.Partition, []string) {
	t.Helper()
	store := newShelf()
	o := byStatus(t, store)
	o.PK, o.Shards = attribute(t, "PK=STATUS#{Status}#{@shard}"), shards
	var rs []sinktest.Record
	var keys []string
	for i := range orders {
		it := order("Status=paid")
		it["SK"] = sinktest.Attr{"S": fmt.Sprintf("%04d", i)}
		rs = append(rs, sinktest.Record{EventName: "INSERT", New: it})
		keys = append(keys, fmt.Sprintf("u,%04d", i))
	}
	s := newSink(t, o)
	ds := deliveries(t, s, changes(t, rs...)...)
	if err := s.Write(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	return store, view.Partition{Table: s.Target().Table, Keys: view.ShardKeys(shards, "STATUS#paid#", "")}, keys
}

func sortKeys(
	ctx context.Context, t rapid.TB, p view.Partition, r view.Reader, q view.PartitionQuery,
) (keys []string, cursor string) {
	for row, err := range p.Rows(ctx, r, q) {
		if err != nil {
			t.Fatal(err)
		}
		sk, _ := row.SK.Text()
		keys, cursor = append(keys, sk), p.Cursor(row)
	}
	return keys, cursor
}

// Partition reads the shards as one partition, in pages of any size, forwards and backwards.
func TestPartition_ReadsWhatAViewSpreads(t *testing.T) {
	ctx := t.Context()
	for _, shards := range []int{1, 3, 10, 256} {
		store, p, want := partitionOf(t, shards, 100)
		if got, _ := sortKeys(ctx, t, p, store, view.PartitionQuery{}); !slices.Equal(got, want) {
			t.Errorf("%d shards: %d rows", shards, len(got))
		}
		if shards > 10 {
			continue // too slow: this store reads all rows of a shard again for each page
		}
		rapid.Check(t, func(t *rapid.T) {
			at, cursor := 0, "" // at is the number of rows before the cursor, which is from row at-1
			for range 10 {
				limit, reverse := rapid.IntRange(1, 50).Draw(t, "limit"), rapid.Bool().Draw(t, "reverse")
				from, to := at, min(at+limit, len(want))
				if reverse {
					to = max(0, at-1)
					if cursor == "" {
						to = len(want)
					}
					from = max(0, to-limit)
				}
				page := slices.Clone(want[from:to])
				if reverse {
					slices.Reverse(page)
				}
				q := view.PartitionQuery{Limit: limit, Reverse: reverse, Cursor: cursor}
				got, last := sortKeys(ctx, t, p, store, q)
				if !slices.Equal(got, page) {
					t.Fatalf("behind %d rows, limit %d, reverse %t: got %v, want %v", at, limit, reverse, got, page)
				}
				if last != "" {
					if cursor, at = last, to; reverse {
						at = from + 1
					}
				}
			}
		})
	}
}

// The first pages of all shards are read concurrently. An error of one page ends the read.
func TestPartition_ShardsAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, p, want := partitionOf(t, 4, 100)
		g := &gate{Reader: store, wanted: 4, open: make(chan struct{})}
		if got, _ := sortKeys(t.Context(), t, p, g, view.PartitionQuery{Limit: 10}); !slices.Equal(got, want[:10]) {
			t.Errorf("got %v", got)
		}
		broken := &gate{Reader: store, wanted: 4, open: make(chan struct{}), fails: errors.New("broken")}
		n := 0
		for _, err := range p.Rows(t.Context(), broken, view.PartitionQuery{}) {
			if n++; !errors.Is(err, broken.fails) {
				t.Errorf("got the error %v, want the reader's", err)
			}
		}
		if n != 1 {
			t.Errorf("%d results of a read that fails", n)
		}
	})
}

func TestPartition_NamesWhatIsWrong(t *testing.T) {
	keys := view.ShardKeys(2, "a", "b")
	want := []item.Value{item.StringValue("a0b"), item.StringValue("a1b")}
	if !slices.EqualFunc(keys, want, item.Value.Equal) {
		t.Errorf("the keys are %v", keys)
	}
	for _, p := range []view.Partition{
		{Table: view.Table{Name: "v", PK: "PK"}, Keys: keys},
		{Table: view.Table{Name: "v", PK: "PK", SK: "SK"}},
	} {
		n := 0
		for _, err := range p.Rows(t.Context(), newShelf(), view.PartitionQuery{}) {
			if n++; err == nil {
				t.Errorf("%+v is read", p)
			}
		}
		if n != 1 {
			t.Errorf("%+v: %d results", p, n)
		}
	}
}

// A cursor is valid only for its partition, and only if it is unchanged.
func TestPartition_RefusesCursors(t *testing.T) {
	shelf, p, _ := partitionOf(t, 3, 10)
	cursor := ""
	for row, err := range p.Rows(t.Context(), shelf, view.PartitionQuery{Limit: 4}) {
		if err != nil {
			t.Fatal(err)
		}
		cursor = p.Cursor(row)
	}
	refused := func(what string, p view.Partition, cursor string, want bool) {
		t.Helper()
		var err error
		for _, err = range p.Rows(t.Context(), shelf, view.PartitionQuery{Cursor: cursor}) {
			break
		}
		if errors.Is(err, view.ErrCursor) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("its own", p, cursor, false)
	for cut := 1; cut < len(cursor); cut++ {
		refused("a cut one", p, cursor[:cut], true)
	}
	other := p
	other.Keys = view.ShardKeys(3, "another", "")
	refused("of another partition", other, cursor, true)
	other.Keys, other.Table.Name = p.Keys, "another"
	refused("of another table", other, cursor, true)
	other = p
	other.Keys = p.Keys[:2]
	refused("of more shards", other, cursor, true)
}
