package dynamo_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/order_lines/stream/2026-11-21T17:30:00.123"

// A table without leases is begun as adapter 2.x does, and stays in the format of its rows, also
// of those that were deleted since.
func TestForm_New(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	l := leases.Lease{Shard: "s", Stream: arn, Parents: []string{"p"}}
	if err := w.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	got := w.rowsOf(t, "leases", "leaseKey")["s"]
	parseByKCL(t, dynamo.RowFormat{}, got)
	if w.Format() != (dynamo.RowFormat{Version: dynamo.Adapter2}) || s(got, "startingHashKey") != "0" || s(got, "endingHashKey") != "1" {
		t.Errorf("%s: %v", w.Format(), got)
	}
}

func TestForm_OfDeletedLeases(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	w.put(t, "leases", row("s", "", "3", "42"))
	l := only(t, w)
	if w.Format().Version != dynamo.Adapter1 {
		t.Fatal(w.Format())
	}
	if err := w.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(t.Context()); err != nil || w.Format().Version != dynamo.Adapter1 {
		t.Errorf("%s (%v)", w.Format(), err)
	}
	if err := w.Create(t.Context(), leases.Lease{Shard: "s2"}); err != nil {
		t.Fatal(err)
	}
	if got := w.rowsOf(t, "leases", "leaseKey")["s2"]; got["startingHashKey"] != nil {
		t.Errorf("a lease of another format: %v", got)
	}
}

// With several streams a row says which one it is of, as KCL's multi-stream mode has it, and a writer
// that did not read the row finds it.
func TestForm_Streams(t *testing.T) {
	w := open(t, dynamotest.Open(t), nil)
	table := w.another(t, dynamo.Options{Streams: true})
	l := leases.Lease{Shard: "shardId-1", Stream: arn, Counter: 1}
	if err := table.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	const key = "123456789012:eu-central-1$123456789012$order_lines$2026-11-21T17_30_00.123:1:shardId-1"
	got := w.rowsOf(t, "leases", "leaseKey")[key]
	parseByKCL(t, table.Format(), got)
	if table.Format().String() != "adapter 2.x, several streams" || s(got, "shardId") != "shardId-1" {
		t.Errorf("%s: %v", table.Format(), got)
	}
	next := l
	next.Owner, next.Counter = "a", 2
	if err := table.Swap(t.Context(), l, next); err != nil {
		t.Fatal(err)
	}
	if got := only(t, w); got.Shard != "shardId-1" || got.Stream != arn || got.Owner != "a" {
		t.Errorf("%+v", got)
	}
	// Rows of KCL have no tw_stream.
	delete(got, "tw_stream")
	w.put(t, "leases", got)
	if got := only(t, w); got.Stream != arn {
		t.Errorf("the stream is %s", got.Stream)
	}
	// Another process finds out by itself, whatever its caller said.
	fresh := w.another(t, dynamo.Options{})
	if err := fresh.Check(t.Context()); err != nil || fresh.Format() != table.Format() {
		t.Errorf("another process finds %s (%v)", fresh.Format(), err)
	}
	fresh = w.another(t, dynamo.Options{})
	if err := fresh.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := fresh.Create(t.Context(), leases.Lease{Shard: "s", Stream: "arn:aws:kinesis:eu-central-1:123456789012:stream/x"}); err == nil || !strings.Contains(err.Error(), "is not an ARN of a table's stream") {
		t.Errorf("a lease of a stream without a name: %v", err)
	}
	if err := fresh.Create(t.Context(), leases.Lease{Shard: "s"}); err == nil {
		t.Error("a lease of no stream")
	}
}
