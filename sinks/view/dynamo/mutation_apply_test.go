package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

var orders = view.Target{Table: view.Table{Name: "views", PK: "PK", SK: "SK"}, View: "orders", Pipeline: "shop"}

// withViews opens a store with the table of orders on a new server, and returns the store and its client.
func withViews(t testing.TB, faults *dynamotest.Faults) (*dynamo.Store, *dynamodb.Client) {
	t.Helper()
	c := dynamotest.Open(t).Client("", faults)
	return withTable(t, statedynamo.Options{Client: c}, orders.Table), c
}

// refused checks that a mutation fails with a permanent error that contains all words.
func refused(t *testing.T, s *dynamo.Store, target view.Target, m view.Mutation, words ...string) {
	t.Helper()
	rs, err := s.Apply(t.Context(), target, []view.Mutation{m})
	if err != nil {
		t.Fatal(err)
	}
	err = rs[0].Err
	if _, again := pipeline.Retryable(err); err == nil || again || pipeline.IsFatal(err) {
		t.Fatalf("got %v, want a permanent error that says %q", err, words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %v, want an error that says %q", err, w)
		}
	}
}

func TestNothingOfOthersIsOverwritten(t *testing.T) {
	s, c := withViews(t, nil)
	apply(t, s, orders, put("1", 1))
	view2, pipeline2 := orders, orders
	view2.View, pipeline2.Pipeline = "users", "staging"
	refused(t, s, view2, put("1", 2), `view "users"`, `of table views belongs to the view "orders" of pipeline "shop"`)
	refused(t, s, pipeline2, put("1", 2), `of pipeline "staging"`, `the view "orders" of pipeline "shop"`)
	_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("views"), Item: statedynamo.Item{
		"PK": statedynamo.S("p"), "SK": statedynamo.S("2"), "by": statedynamo.S("hand"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	gone := put("2", 9)
	gone.Tombstone = true
	refused(t, s, orders, put("2", 9), "no sink made")
	refused(t, s, orders, gone, "no sink made")
	out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("views"), Key: statedynamo.Item{"PK": statedynamo.S("p"), "SK": statedynamo.S("2")}})
	if err != nil || statedynamo.Text(out.Item, "by") != "hand" || len(out.Item) != 3 {
		t.Errorf("the item that no sink made is %v now, %v", out.Item, err)
	}
}

func TestWhatNoItemCanHold(t *testing.T) {
	faults := new(dynamotest.Faults)
	s, _ := withViews(t, faults)
	apply(t, s, orders, put("1", 1))
	before := faults.Calls("PutItem")
	large := put("1", 2, state.Column{Name: "text", Value: item.StringValue(strings.Repeat("x", 400<<10))})
	refused(t, s, orders, large, "400 KB")
	long, empty := put(strings.Repeat("x", 1025), 1), put("", 1)
	refused(t, s, orders, long, "sort key SK is 1025 bytes", "1024")
	refused(t, s, orders, empty, "sort key SK is empty")
	wide := put("1", 1)
	wide.PK = item.StringValue(strings.Repeat("x", 2049))
	refused(t, s, orders, wide, "partition key PK is 2049 bytes", "2048")
	if n := faults.Calls("PutItem") - before; n != 0 {
		t.Errorf("%d of them were sent", n)
	}
	number := put("1", 1)
	number.SK = column(t, "", `{"N":"1"}`).Value
	refused(t, s, orders, number, "of another type")
	for i, bad := range []view.Mutation{large, number} { // a move to an impossible row still removes the old row
		apply(t, s, orders, put("1", 2*i+2))
		old := put("1", 2*i+3)
		old.Tombstone, old.EndsMove = true, true
		bad.Version, bad.LikelyNew = old.Version, true
		if bad.SK.Equal(old.SK) {
			bad.SK = item.StringValue("2")
		}
		rs, err := s.Apply(t.Context(), orders, []view.Mutation{bad, old})
		if _, again := pipeline.Retryable(rs[0].Err); err != nil || rs[0].Err == nil || again || rs[1] != (view.Result{}) {
			t.Errorf("a move to a row that no item can hold: %+v, %v, want a permanent error and the old row gone", rs, err)
		}
		for row := range s.Rows(t.Context(), orders.Table, view.Query{}) {
			t.Errorf("the row %v is left", row.SK)
		}
	}
}

// TTL deletes a tombstone that is older than the retention, both in the table and in the state. A row that replaces the
// tombstone does not expire.
func TestTombstonesExpire(t *testing.T) {
	c := dynamotest.Open(t).Client("", nil)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := withTable(t, statedynamo.Options{Client: c, Retention: 24 * time.Hour, Now: func() time.Time { return now }}, orders.Table)
	for table, attribute := range map[string]string{"views": "_tw_expires", "state": "expires"} {
		ttl, err := c.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
		if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != attribute {
			t.Errorf("the TTL of %s is %+v, %v", table, ttl, err)
		}
	}
	raw := func(table string, key statedynamo.Item) statedynamo.Item {
		t.Helper()
		out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, ConsistentRead: aws.Bool(true), Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item
	}
	inPlace := orders
	inPlace.View, inPlace.InPlace = "in-place", true
	for sk, target := range map[string]view.Target{"1": orders, "2": inPlace} {
		gone := put(sk, 1)
		gone.Tombstone = true
		row, err := state.MakeRow(gone.PK, gone.SK)
		if err != nil {
			t.Fatal(err)
		}
		key := statedynamo.Item{"PK": statedynamo.S("p"), "SK": statedynamo.S(sk)}
		apart := s.TombstoneRef(state.Target{Pipeline: target.Pipeline, Table: target.Name, View: target.View}, row).Key
		apply(t, s, target, gone)
		got, none := statedynamo.Digits(raw("views", key), "_tw_expires"), raw("state", apart)
		if !target.InPlace {
			got, none = statedynamo.Digits(none, "expires"), raw("views", key)
		}
		if want := "1767409445"; got != want || none != nil {
			t.Errorf("the tombstone of %s expires at %s, want %s; beside it there is %v", target.View, got, want, none)
		}
		apply(t, s, target, put(sk, 2))
		if it := raw("views", key); it["_tw_expires"] != nil || it["_tw"] == nil {
			t.Errorf("the row is %v: it must not expire", it)
		}
	}
}

// After a lost answer, a throttle or an outage of the server, every row is stored once, and all writes that were
// reported as written are stored.
func TestPassingFaults(t *testing.T) {
	faults := new(dynamotest.Faults)
	s, _ := withViews(t, faults)
	apply(t, s, orders, put("first", 1))
	faults.Next("PutItem", dynamotest.Lost(), dynamotest.Throttle(), dynamotest.Unavailable(503), dynamotest.Cut(0), dynamotest.Conflict())
	apply(t, s, orders, put("1", 1), put("2", 1), put("3", 1))
	for range 8 {
		faults.Next("PutItem", dynamotest.Throttle())
	}
	one := []view.Mutation{put("4", 1)}
	rs, err := s.Apply(t.Context(), orders, one)
	if _, again := pipeline.Retryable(rs[0].Err); err != nil || !again || !errors.Is(rs[0].Err, statedynamo.ErrThrottled) {
		t.Errorf("a table that throttles for long: %+v, %v, want a transient error", rs, err)
	}
}

// If the server does not answer, a call ends long before it has tried each row.
func TestOutageEndsTheCall(t *testing.T) {
	faults := new(dynamotest.Faults)
	c := dynamotest.Open(t).Client("", faults)
	s := withTable(t, statedynamo.Options{Client: c, Attempts: 1}, orders.Table)
	apply(t, s, orders, put("first", 1))
	before := faults.Calls("PutItem")
	faults.Randomly(1, 1, dynamotest.Reset())
	ms := make([]view.Mutation, 1000)
	for i := range ms {
		ms[i] = put("x", 2)
		ms[i].PK = item.StringValue(strings.Repeat("p", i+1))
	}
	rs, err := s.Apply(t.Context(), orders, ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if _, again := pipeline.Retryable(r.Err); !again {
			t.Fatalf("mutation %d: %+v, want a transient error", i, r)
		}
	}
	if n := faults.Calls("PutItem") - before; n > 100 {
		t.Errorf("%d requests were sent into the void", n)
	}
}

func TestCreate(t *testing.T) {
	s, c := withViews(t, nil)
	for range 2 { // the second call finds the table, as other processes do
		if err := s.Create(t.Context(), orders.Table, dynamo.KeyTypes{}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("views")})
	if err != nil || d.Table.BillingModeSummary == nil || d.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("the table is %+v, %v, want it billed on demand", d, err)
	}
	for what, create := range map[string]func() error{
		"of another type": func() error {
			return s.Create(t.Context(), orders.Table, dynamo.KeyTypes{PK: types.ScalarAttributeTypeN})
		},
		"of other names": func() error {
			return s.Check(t.Context(), view.Table{Name: "views", PK: "id"}, dynamo.KeyTypes{})
		},
		"missing": func() error { return s.Check(t.Context(), view.Table{Name: "others", PK: "id"}, dynamo.KeyTypes{}) },
	} {
		if err := create(); !pipeline.IsFatal(err) {
			t.Errorf("a table whose key is %s: %v, want a fatal error", what, err)
		}
	}
	others := orders
	others.Name = "others"
	if _, err := s.Apply(t.Context(), others, []view.Mutation{put("1", 1)}); !pipeline.IsFatal(err) {
		t.Errorf("writing to a table that is not there: %v, want a fatal error", err)
	}
}

// A Reader reads a view without a state table.
func TestReader(t *testing.T) {
	s, c := withViews(t, nil)
	gone := put("2", 1)
	gone.Tombstone = true
	apply(t, s, orders, put("1", 1, column(t, "total", `{"N":"1.50"}`)), gone)
	r, err := dynamo.NewReader(c)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, err := range r.Rows(context.WithoutCancel(t.Context()), orders.Table, view.Query{PK: item.StringValue("p")}) {
		if n++; err != nil || string(row.Item.AppendJSON(nil)) != `{"PK":"p","SK":"1","total":1.5}` {
			t.Errorf("got %s, %v", row.Item.AppendJSON(nil), err)
		}
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	for _, q := range []view.Query{{}, {PK: item.StringValue("p")}} {
		for _, err := range r.Rows(t.Context(), view.Table{Name: "others", PK: "PK"}, q) {
			if !errors.Is(err, view.ErrNoTable) {
				t.Errorf("a table that is not there: %v, want ErrNoTable", err)
			}
		}
	}
	if _, err := dynamo.NewReader(nil); err == nil {
		t.Error("a reader without a client")
	}
}
