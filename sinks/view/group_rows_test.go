package view_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// spread returns an aggregate with orders in the groups A, A~0 and B, and the store of the aggregate. The aggregate has
// the given number of shards.
func spread(t testing.TB, shards int) (*groupMemory, *view.Aggregate) {
	t.Helper()
	store := newGroupMemory()
	o := revenue(t, store)
	o.PK, o.SK, o.Shards = group(t, "PK={Status}"), group(t, "SK={Rank}"), shards
	a := newAggregate(t, o)
	var rs []sinktest.Record
	for i := range 60 {
		it := order("Status="+[]string{"A", "A~0", "B"}[i%3], fmt.Sprintf("Rank=#%d", i%2), fmt.Sprintf("Total=#%d.1", i), fmt.Sprintf("CreatedAt=%02d", i), fmt.Sprintf("Note=%d", i%5))
		it["SK"] = sinktest.Attr{"S": fmt.Sprint(i)}
		rs = append(rs, sinktest.Record{EventName: "INSERT", New: it})
	}
	contribute(t, a, changes(t, rs...)...)
	return store, a
}

func collect(t testing.TB, g view.GroupRows, r view.Reader, q view.Query) []string {
	t.Helper()
	var rows []string
	for row, err := range g.All(t.Context(), r, q) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(row.Item.AppendJSON(nil)))
	}
	return rows
}

// A reader gets the same rows, however many shards there are.
func TestGroups_ShardsMakeNoDifference(t *testing.T) {
	plainStore, plain := spread(t, 1)
	want := collect(t, plain.Groups(), plainStore, view.Query{})
	if len(want) != 6 || want[0] != `{"PK":"A","SK":0,"first":"00","notes":5,"orders":10,"revenue":271}` {
		t.Fatalf("one shard holds %v", want)
	}
	for _, shards := range []int{2, 4, 11} {
		store, a := spread(t, shards)
		if n := len(store.show()); n <= len(want) {
			t.Fatalf("%d rows for %d groups on %d shards: they are not spread", n, len(want), shards)
		}
		for _, q := range []view.Query{
			{},
			{Limit: 2},
			{PK: item.StringValue("A")},
			{PK: item.StringValue("A~0")},
			{PK: item.StringValue("A~0~0")},
			{PKPrefix: "A~"},
			{PKPrefix: "B"},
			{PKPrefix: "B~"},
			{Reverse: true},
			{Reverse: true, Limit: 3},
			{PK: item.StringValue("A"), Reverse: true},
			{PK: item.StringValue("A"), From: item.NumberValue(decimal.Of(1))},
			{PK: item.StringValue("A"), From: item.NumberValue(decimal.Of(1)), After: true, Reverse: true},
		} {
			got, want := collect(t, a.Groups(), store, q), collect(t, plain.Groups(), plainStore, q)
			if !slices.EqualFunc(got, want, sameItem(t)) {
				t.Errorf("%d shards, %+v: got\n%s\nwant\n%s", shards, q, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// sameItem returns a function that compares plain JSON, whatever the order of the members.
func sameItem(t testing.TB) func(a, b string) bool {
	return func(a, b string) bool {
		x, err := sinktest.CanonicalJSON([]byte(a))
		y, err2 := sinktest.CanonicalJSON([]byte(b))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return x == y
	}
}

func TestGroups_Get(t *testing.T) {
	for _, shards := range []int{1, 4} {
		store, a := spread(t, shards)
		one := item.NumberValue(decimal.Of(1))
		row, ok, err := a.Groups().Get(t.Context(), store, item.StringValue("B"), one)
		if err != nil || !ok {
			t.Fatalf("%d shards: %t, %v", shards, ok, err)
		}
		if orders, _ := row.Item.Get("orders"); !orders.Equal(item.NumberValue(decimal.Of(10))) || row.View != "revenue" || row.Version.IsZero() || !row.SK.Equal(one) {
			t.Errorf("%d shards: got %+v", shards, row)
		}
		if row, ok, err := a.Groups().Get(t.Context(), store, item.StringValue("C"), one); ok || err != nil {
			t.Errorf("%d shards: a group that is not there: %+v, %v", shards, row, err)
		}
	}
}

// countingReader counts the rows that the reader returns.
type countingReader struct {
	view.Reader
	n int
}

func (r *countingReader) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		for row, err := range r.Reader.Rows(ctx, t, q) {
			if r.n++; !yield(row, err) {
				return
			}
		}
	}
}

// Get reads only the rows of its group, and not the rows of other groups in the partition. The sort key may be a
// number, or a text that is the beginning of other texts.
func TestGroups_GetReadsOneGroup(t *testing.T) {
	for _, template := range []string{"SK={Rank}", "SK={Note}"} {
		store := newGroupMemory()
		o := revenue(t, store)
		o.PK, o.SK = group(t, "PK={Status}"), group(t, template)
		a := newAggregate(t, o)
		var rs []sinktest.Record
		for i, note := range []string{"7", "70", "71"} {
			it := order("Status=A", fmt.Sprintf("Rank=#%d", i), "Note="+note, "Total=#1", "CreatedAt=1")
			it["SK"] = sinktest.Attr{"S": fmt.Sprint(i)}
			rs = append(rs, sinktest.Record{EventName: "INSERT", New: it})
		}
		contribute(t, a, changes(t, rs...)...)
		sk := item.NumberValue(decimal.Of(0))
		if template != "SK={Rank}" {
			sk = item.StringValue("7")
		}
		reader := &countingReader{Reader: store}
		if _, ok, err := a.Groups().Get(t.Context(), reader, item.StringValue("A"), sk); !ok || err != nil {
			t.Fatalf("%s: %t, %v; the store has %v", template, ok, err, store.show())
		}
		if reader.n != 1 {
			t.Errorf("%s: read %d rows, want one", template, reader.n)
		}
	}
}

// A merged table returns the rows of views and of other aggregates unchanged.
func TestMerged(t *testing.T) {
	store, a := spread(t, 4)
	o := revenue(t, store)
	o.Name, o.PK, o.SK, o.Values = "other", group(t, "PK=B~1"), group(t, "SK=ALL"), o.Values[1:2]
	contribute(t, newAggregate(t, o), changes(t, sinktest.Record{EventName: "INSERT", New: order("Status=x")})...)
	var keys []string
	for row, err := range view.MergedRows(t.Context(), store, a.Target().Table, view.Query{}, a.Groups()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, row.View+" "+row.PK.String())
	}
	want := []string{`revenue {"S":"A"}`, `revenue {"S":"A"}`, `revenue {"S":"A~0"}`, `revenue {"S":"A~0"}`, `revenue {"S":"B"}`, `revenue {"S":"B"}`, `other {"S":"B~1"}`}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
	if rows := collect(t, a.Groups(), store, view.Query{PK: item.StringValue("B~1")}); len(rows) != 0 {
		t.Errorf("a row of another aggregate is among the groups: %v", rows)
	}
}

// Sums of more than 38 digits are added over shards without losing a digit.
func TestGroups_LargeSums(t *testing.T) {
	store := newGroupMemory()
	o := revenue(t, store)
	o.Shards, o.Values = 4, o.Values[:1]
	a := newAggregate(t, o)
	var rs []sinktest.Record
	for i, n := range []string{"1" + strings.Repeat("0", 120), "0.1", "0.02", "-0.003", "1", "20"} {
		it := order("Status=paid", "Total=#"+n)
		it["SK"] = sinktest.Attr{"S": fmt.Sprint(i)}
		rs = append(rs, sinktest.Record{EventName: "INSERT", New: it})
	}
	contribute(t, a, changes(t, rs...)...)
	rows := collect(t, a.Groups(), store, view.Query{})
	want := `{"PK":"REVENUE#paid","SK":"ALL","revenue":"1` + strings.Repeat("0", 118) + `21.117"}`
	if len(rows) != 1 || rows[0] != want {
		t.Errorf("got %v, want %s", rows, want)
	}
}

// gate is a reader. A read of a partition key blocks until the wanted number of reads have been called.
type gate struct {
	view.Reader
	wanted int
	mu     sync.Mutex
	pks    []string
	open   chan struct{}
	fails  error
}

func (g *gate) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		g.mu.Lock()
		g.pks = append(g.pks, q.PK.String())
		if len(g.pks) == g.wanted {
			close(g.open)
		}
		g.mu.Unlock()
		select {
		case <-g.open:
		case <-ctx.Done():
			yield(view.Row{}, ctx.Err())
			return
		}
		if g.fails != nil {
			yield(view.Row{}, g.fails)
			return
		}
		g.Reader.Rows(ctx, t, q)(yield)
	}
}

// Groups reads all shards of one group concurrently, each by its own key. It reads no other keys.
func TestGroups_ShardsAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, a := spread(t, 4)
		g := &gate{Reader: store, wanted: 4, open: make(chan struct{})}
		if rows := collect(t, a.Groups(), g, view.Query{PK: item.StringValue("B")}); len(rows) != 2 {
			t.Errorf("got %v, want 2 groups", rows)
		}
		slices.Sort(g.pks)
		if want := []string{`{"S":"B"}`, `{"S":"B~0"}`, `{"S":"B~1"}`, `{"S":"B~2"}`, `{"S":"B~3"}`}; !slices.Equal(g.pks, want) {
			t.Errorf("the keys %s were read, want %s", g.pks, want)
		}
		broken := &gate{Reader: store, wanted: 4, open: make(chan struct{}), fails: errors.New("broken")}
		if _, _, err := a.Groups().Get(t.Context(), broken, item.StringValue("B"), item.StringValue("x")); !errors.Is(err, broken.fails) {
			t.Errorf("got the error %v, want the reader's", err)
		}
	})
}
