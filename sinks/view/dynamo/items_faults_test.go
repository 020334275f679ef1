package dynamo_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

// Rows that several items claim are correct if every tenth call has a fault, such as a conflict with another
// transaction, a throttle, a lost answer, or a truncated answer.
func TestConformance_Faults(t *testing.T) {
	server := dynamotest.Open(t)
	var faults dynamotest.Faults
	faults.Randomly(1, 0.1, dynamotest.Conflict(), dynamotest.Throttle(), dynamotest.Lost(), dynamotest.Cut(5),
		dynamotest.Unprocessed(0), dynamotest.Unprocessed(1), dynamotest.Unavailable(http.StatusInternalServerError))
	viewtest.Run(t, viewtest.Suite{
		Checks: 1, LargestCall: many, TypedKeys: true, Only: []string{"SharedLast", "MovesByNumber"}, CountItems: plain,
		Open: func(ctx context.Context, dir string) (viewtest.Store, error) {
			db, err := statedynamo.New(statedynamo.Options{
				Client: server.Client(dir, &faults), Table: "state", Pipeline: "test", Attempts: 12,
				Backoff: pipeline.Backoff{Base: time.Microsecond, Max: time.Millisecond},
			})
			if err != nil {
				return nil, err
			}
			if err := db.CreateState(ctx); err != nil {
				return nil, err
			}
			s, err := dynamo.New(db)
			return &anyTable{Store: s, made: make(map[string]bool)}, err
		},
	})
}

// emails is a store with a view whose rows several items may claim.
type emails struct {
	*dynamo.Store
	t      *testing.T
	client *dynamodb.Client // a client without faults
	target view.Target
}

func openEmails(t *testing.T, faults *dynamotest.Faults) *emails {
	t.Helper()
	server := dynamotest.Open(t)
	table := view.Table{Name: "views", PK: "PK"}
	s := withTable(t, statedynamo.Options{Client: server.Client("", faults)}, table)
	return &emails{s, t, server.Client("", nil), view.Target{Table: table, View: "emails", Pipeline: "shop"}}
}

func (e *emails) version(n int) record.Version { return version(e.t, n) }

func (e *emails) row(name string) state.Row {
	r, err := state.MakeRow(item.StringValue(name), item.Value{})
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// claim returns the claim of an item at its first version.
func (e *emails) claim(image item.Key, says string) state.Claim {
	return state.Claim{Source: image, Version: e.version(1), Time: time.Unix(1, 0), Attributes: []state.Column{{Name: "says", Value: item.StringValue(says)}}}
}

// comes returns the write of a new item, which has no guard and claims a row. was and revision are the revisions of the
// row before and after the write.
func (e *emails) comes(item item.Key, row, was, revision string, claim, holder state.Claim) state.ItemWrite {
	return state.ItemWrite{
		Source: item, Guard: state.Guard{Version: e.version(1), Row: e.row(row)},
		Rows: []state.RowClaimsWrite{{Row: e.row(row), Expected: was, Revision: revision, Claim: claim, Owner: holder}},
	}
}

// leaves returns the write of a removed item, which leaves its row without a claim.
func (e *emails) leaves(item item.Key, row, was string) state.ItemWrite {
	return state.ItemWrite{
		Source: item, Expected: e.version(1), Guard: state.Guard{Version: e.version(2)},
		Rows: []state.RowClaimsWrite{{Row: e.row(row), Expected: was}},
	}
}

func (e *emails) settle(ws ...state.ItemWrite) []view.Result {
	e.t.Helper()
	rs, err := e.WriteItems(e.t.Context(), e.target, ws)
	if err != nil {
		e.t.Fatal(err)
	}
	return rs
}

func (e *emails) seat(row string) view.RowClaims {
	e.t.Helper()
	seats, err := e.RowClaims(e.t.Context(), e.target, []state.Row{e.row(row)})
	if err != nil {
		e.t.Fatal(err)
	}
	return seats[0]
}

// If many items claim one row in one call, the row is written a few times, and not once for each item.
func TestSettle_Merged(t *testing.T) {
	var faults dynamotest.Faults
	e := openEmails(t, &faults)
	const n = 120
	crowd := func(row string) (ws []state.ItemWrite) {
		first := e.claim("item0", "0")
		was := ""
		for i := range n {
			item := item.Key(fmt.Sprint("item", i))
			now := fmt.Sprint("r", i)
			ws = append(ws, e.comes(item, row, was, now, e.claim(item, fmt.Sprint(i)), first))
			was = now
		}
		return ws
	}
	for i, r := range e.settle(crowd("a")...) {
		if r != (view.Result{}) {
			t.Fatalf("item %d: %+v", i, r)
		}
	}
	if calls := faults.Calls("TransactWriteItems"); calls > 5 {
		t.Errorf("%d items came to a row in %d transactions", n, calls)
	}
	seat := e.seat("a")
	if seat.Owner.Source != "item0" || len(seat.Waiting) != n-1 || seat.Revision != fmt.Sprint("r", n-1) {
		t.Errorf("%s holds the row, %d wait, at %s", seat.Owner.Source, len(seat.Waiting), seat.Revision)
	}
}

// If a merged transaction is refused, each write is tried separately and gets its own result.
func TestSettle_Split(t *testing.T) {
	var faults dynamotest.Faults
	e := openEmails(t, &faults)
	a, b := e.claim("a", "A"), e.claim("b", "B")
	faults.Next("TransactWriteItems", dynamotest.Cancel(dynamotest.Reason{Code: "ConditionalCheckFailed"}))
	for i, r := range e.settle(e.comes("a", "x", "", "r1", a, a), e.comes("b", "x", "r1", "r2", b, a)) {
		if r != (view.Result{}) {
			t.Errorf("write %d: %+v", i, r)
		}
	}
	if n := faults.Calls("TransactWriteItems"); n != 3 {
		t.Errorf("%d transactions, want 3: both, and each", n)
	}
	// The second of three writes is too large. The first is written. The third is lost, because it depends on the second.
	large := e.claim("d", strings.Repeat("SECRET", 70_000))
	rs := e.settle(e.comes("c", "x", "r2", "r3", e.claim("c", "C"), a), e.comes("d", "x", "r3", "r4", large, a), e.comes("e", "x", "r4", "r5", e.claim("e", "E"), a))
	err := rs[1].Err
	if _, again := pipeline.Retryable(err); rs[0] != (view.Result{}) || !rs[2].Lost || err == nil || again || !strings.Contains(err.Error(), "400 KB") {
		t.Errorf("a large claim among others: %+v", rs)
	}
	if err != nil && strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the error shows the claim: %v", err)
	}
}

// A waiting claim is refused if the row with its content would be too large for an item. So the owner of the row can
// leave without an error, whatever the size of an accepted claim.
func TestSettle_WaitingRowTooLarge(t *testing.T) {
	e := openEmails(t, nil)
	e.target.Birth = state.NewBirth("emails", "table views", time.Now()).ID
	for size := 400<<10 - 600; size < 400<<10; size += 8 {
		x, first, second := fmt.Sprint("x", size), item.Key(fmt.Sprint("a", size)), item.Key(fmt.Sprint("b", size))
		a, b := e.claim(first, "A"), e.claim(second, strings.Repeat("b", size))
		e.settle(e.comes(first, x, "", "r1", a, a))
		r := e.settle(e.comes(second, x, "r1", "r2", b, a))[0]
		if r.Err != nil {
			if _, again := pipeline.Retryable(r.Err); again || !strings.Contains(r.Err.Error(), "400 KB") {
				t.Errorf("a row of %d bytes waits: %+v", size, r)
			}
			return
		}
		left := e.leaves(first, x, "r2")
		left.Rows[0].Revision, left.Rows[0].Owner = "r3", b
		if r := e.settle(left)[0]; r != (view.Result{}) {
			t.Fatalf("leaving a row to one of %d bytes: %+v", size, r)
		}
	}
	t.Error("no row was too large")
}

// After a lost answer or a lasting conflict, no write is done twice, no write is wrongly reported as lost, and
// temporary failures can be retried.
func TestSettle_Faults(t *testing.T) {
	for what, c := range map[string]struct {
		faults []dynamotest.Fault
		again  bool
	}{
		"the answer is lost":        {[]dynamotest.Fault{dynamotest.Lost()}, false},
		"the answer is cut off":     {[]dynamotest.Fault{dynamotest.Cut(0), dynamotest.Lost()}, false},
		"a conflict":                {[]dynamotest.Fault{dynamotest.Conflict(), dynamotest.Conflict()}, false},
		"a conflict that continues": {[]dynamotest.Fault{dynamotest.Conflict(), dynamotest.Conflict(), dynamotest.Conflict(), dynamotest.Conflict()}, true},
		"a throttle that continues": {[]dynamotest.Fault{dynamotest.Throttle(), dynamotest.Throttle(), dynamotest.Throttle(), dynamotest.Throttle()}, true},
		"no answer again and again": {[]dynamotest.Fault{dynamotest.Lost(), dynamotest.Reset(), dynamotest.Lost(), dynamotest.Reset()}, true},
	} {
		t.Run(what, func(t *testing.T) {
			var faults dynamotest.Faults
			e := openEmails(t, &faults)
			a := e.claim("a", "A")
			faults.Next("TransactWriteItems", c.faults...)
			r := e.settle(e.comes("a", "x", "", "r1", a, a))[0]
			if _, again := pipeline.Retryable(r.Err); r.Lost || again != c.again || r.Err != nil && !again {
				t.Fatalf("got %+v, want transient: %v", r, c.again)
			}
			if r = e.settle(e.comes("a", "x", "", "r1", a, a))[0]; r.Err != nil || r.Lost == (c.again && !strings.HasPrefix(what, "no answer")) {
				t.Errorf("tried again: %+v", r)
			}
			if seat := e.seat("x"); seat.Revision != "r1" || seat.Owner.Source != "a" {
				t.Errorf("the owner record is %+v", seat)
			}
		})
	}
}

// If the claims on a row change while they are read, all returned claims belong to one revision.
func TestSeats_Unsteady(t *testing.T) {
	var faults dynamotest.Faults
	e := openEmails(t, &faults)
	a, b := e.claim("a", "A"), e.claim("b", "B")
	e.settle(e.comes("a", "x", "", "r1", a, a))
	other, err := open(t.Context(), statedynamo.Options{Client: e.client})
	if err != nil {
		t.Fatal(err)
	}
	settle := func(w state.ItemWrite) func() {
		return func() {
			if rs, err := other.WriteItems(context.Background(), e.target, []state.ItemWrite{w}); err != nil || rs[0] != (view.Result{}) {
				t.Error(rs, err)
			}
		}
	}
	faults.Next("Query", dynamotest.Meanwhile(settle(e.comes("b", "x", "r1", "r2", b, a))))
	if seat := e.seat("x"); seat.Revision != "r2" || seat.Owner.Source != "a" || len(seat.Waiting) != 1 {
		t.Errorf("while b came the owner record is %+v", seat)
	}
	gone := e.leaves("b", "x", "r2")
	gone.Rows[0].Revision, gone.Rows[0].Owner = "r3", a
	faults.Next("Query", dynamotest.Meanwhile(settle(gone)), dynamotest.Meanwhile(settle(e.leaves("a", "x", "r3"))))
	if seat := e.seat("x"); seat.Revision != "" || seat.Owner.Source != "" || seat.Waiting != nil {
		t.Errorf("when all had left the owner record is %+v", seat)
	}
}

// A row of another view, or a row that no view wrote, is not overwritten. The error names its owner.
func TestSettle_ForeignRow(t *testing.T) {
	e := openEmails(t, nil)
	a := e.claim("a", "A")
	put := func(item statedynamo.Item) {
		if _, err := e.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("views"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	put(statedynamo.Item{"PK": statedynamo.S("x"), "by": statedynamo.S("hand")})
	if seat := e.seat("x"); seat.Foreign == nil || seat.Foreign.View != "" {
		t.Error("an item that no sink made may be claimed")
	}
	if r := e.settle(e.comes("a", "x", "", "r1", a, a))[0]; !r.Lost {
		t.Errorf("claiming it: %+v", r)
	}
	e.settle(e.comes("a", "y", "", "r1", a, a))
	put(statedynamo.Item{"PK": statedynamo.S("y"), "_tw": &types.AttributeValueMemberM{Value: statedynamo.Item{
		"view": statedynamo.S("others"), "by": statedynamo.S("shop"),
	}}})
	r := e.settle(e.leaves("a", "y", "r1"))[0]
	if _, again := pipeline.Retryable(r.Err); r.Lost || r.Err == nil || again || !strings.Contains(r.Err.Error(), "others") {
		t.Errorf("leaving a row that another view took: %+v", r)
	}
}

// A guard with a row never expires. A guard without a row expires after the retention.
func TestGuards_Expire(t *testing.T) {
	e := openEmails(t, nil)
	a := e.claim("a", "A")
	expires := func() bool {
		t.Helper()
		ref := e.GuardRef(state.Target{Pipeline: "shop", View: "emails", Table: "views"}, "a")
		items, err := e.Get(t.Context(), []statedynamo.Ref{ref})
		if err != nil || items[0] == nil {
			t.Fatal(items, err)
		}
		return statedynamo.Digits(items[0], "expires") != "" && statedynamo.Digits(items[0], "written") != ""
	}
	e.settle(e.comes("a", "x", "", "r1", a, a))
	if expires() {
		t.Error("a guard with a row expires")
	}
	e.settle(e.leaves("a", "x", "r1"))
	if !expires() {
		t.Error("a guard without a row never expires")
	}
	back := e.comes("a", "x", "", "r2", a, a)
	back.Expected, back.Guard.Version = e.version(2), e.version(3)
	e.settle(back)
	if expires() {
		t.Error("a guard with a row again expires")
	}
}
