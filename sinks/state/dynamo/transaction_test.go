package dynamo_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

const table = "state"

func key(name string) dynamo.Item { return dynamo.Item{"pk": dynamo.S(name), "sk": dynamo.S("-")} }

// put returns an action that puts an item with text if the item does not exist.
func put(name, text string) dynamo.Action {
	item := key(name)
	item["says"] = dynamo.S(text)
	return dynamo.Action{Put: &types.Put{
		TableName: aws.String(table), Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// add returns an action that adds 1 to a number without a condition.
func add(name string) dynamo.Action {
	return dynamo.Action{Update: &types.Update{
		TableName: aws.String(table), Key: key(name), UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: dynamo.Item{":one": dynamo.N("1")},
	}}
}

// items returns the items with the given names.
func items(t *testing.T, db *dynamo.DB, names ...string) []dynamo.Item {
	t.Helper()
	refs := make([]dynamo.Ref, len(names))
	for i, name := range names {
		refs[i] = dynamo.Ref{Table: table, Key: key(name)}
	}
	found, err := db.Get(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Fact 24: TransactWriteItems accepts at most 100 actions, and a cancelled transaction has a reason for each action. A
// transaction with two actions on the same item is refused.
func TestFact24_Transactions(t *testing.T) {
	db := open(t, nil)
	var all []dynamo.Action
	for i := range 101 {
		all = append(all, put(fmt.Sprint(i), "new"))
	}
	if err := db.Transact(t.Context(), all); !permanent(err) {
		t.Errorf("101 actions: %v, want a permanent error", err)
	}
	if err := db.Transact(t.Context(), all[:100]); err != nil {
		t.Fatalf("100 actions: %v", err)
	}
	if got := items(t, db, "0", "99", "100"); got[0] == nil || got[1] == nil || got[2] != nil {
		t.Errorf("100 actions left %v", got)
	}

	err := db.Transact(t.Context(), []dynamo.Action{put("x", "new"), put("7", "newer"), put("y", "new"), put("9", "newer")})
	unmet, ok := errors.AsType[*dynamo.ConditionError](err)
	if !ok || len(unmet.Unmet) != 2 || unmet.Unmet[0].ActionIndex != 1 || unmet.Unmet[1].ActionIndex != 3 {
		t.Fatalf("two conditions are not met: %v", err)
	}
	if says := dynamo.Text(unmet.Unmet[0].Item, "says"); says != "new" {
		t.Errorf("the item that stands there says %q", says)
	}
	if got := items(t, db, "x", "y"); got[0] != nil || got[1] != nil {
		t.Errorf("a cancelled transaction left %v", got)
	}

	if err := db.Transact(t.Context(), []dynamo.Action{add("x"), add("x")}); !errors.Is(err, dynamo.ErrInvalid) || !permanent(err) {
		t.Errorf("two actions on one item: %v", err)
	}
	if err := db.Transact(t.Context(), nil); err != nil {
		t.Errorf("no action: %v", err)
	}
}

// Fact 24: client tokens are valid for 10 minutes. If a transaction was executed and its answer was lost, a retry with
// the same token does not execute the transaction again.
func TestFact24_ClientTokens(t *testing.T) {
	for what, fault := range map[string]dynamotest.Fault{
		"Lost": dynamotest.Lost(), "Cut": dynamotest.Cut(1), "Conflict": dynamotest.Conflict(), "Reset": dynamotest.Reset(),
		"Unavailable": dynamotest.Unavailable(http.StatusServiceUnavailable), "InProgress": dynamotest.Refuse(400, "TransactionInProgressException", ""),
	} {
		t.Run(what, func(t *testing.T) {
			var faults dynamotest.Faults
			db := open(t, &faults)
			faults.Next("TransactWriteItems", fault, fault)
			if err := db.Transact(t.Context(), []dynamo.Action{add("a"), add("b")}); err != nil {
				t.Fatal(err)
			}
			if n := faults.Calls("TransactWriteItems"); n != 3 {
				t.Errorf("%d calls, want 3", n)
			}
			if got := items(t, db, "a", "b"); dynamo.Digits(got[0], "n") != "1" || dynamo.Digits(got[1], "n") != "1" {
				t.Errorf("one was added, and there are %v", got)
			}
		})
	}
}

// If a client token was used for another transaction, the call is not repeated with this token. The error is transient,
// because the next delivery uses a new token.
func TestTokenReused(t *testing.T) {
	var faults dynamotest.Faults
	db := open(t, &faults)
	faults.Next("TransactWriteItems", dynamotest.Lost(), func(r *dynamotest.Request) (*http.Response, error) {
		r.Body = bytes.ReplaceAll(r.Body, []byte(`"a"`), []byte(`"b"`))
		return r.Send()
	})
	err := db.Transact(t.Context(), []dynamo.Action{add("a")})
	if _, again := pipeline.Retryable(err); !errors.Is(err, dynamo.ErrTokenReused) || !again {
		t.Errorf("got %v", err)
	}
	if n := faults.Calls("TransactWriteItems"); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	if err := db.Transact(t.Context(), []dynamo.Action{add("a")}); err != nil {
		t.Errorf("delivered again: %v", err)
	}
}

// If the answer of a single write is lost, the repeated write fails its condition, and the error contains the stored
// item.
func TestWrite_Lost(t *testing.T) {
	var faults dynamotest.Faults
	db := open(t, &faults)
	faults.Next("PutItem", dynamotest.Lost())
	err := db.Write(t.Context(), put("a", "new"))
	unmet, ok := errors.AsType[*dynamo.ConditionError](err)
	if !ok || dynamo.Text(unmet.Unmet[0].Item, "says") != "new" {
		t.Errorf("got %v", err)
	}
}

// If a cancelled transaction has several reasons, a condition that is not met comes first, then permanent errors, and
// then transient errors.
func TestReasonsDecide(t *testing.T) {
	conflict := dynamotest.Reason{Code: "TransactionConflict"}
	throttled := dynamotest.Reason{Code: "ProvisionedThroughputExceeded"}
	unmet := dynamotest.Reason{Code: "ConditionalCheckFailed", Item: map[string]any{"says": map[string]any{"S": "newer"}}}
	large := dynamotest.Reason{Code: "ValidationError", Message: "Item size to update has exceeded the maximum allowed size"}
	full := dynamotest.Reason{Code: "ItemCollectionSizeLimitExceeded"}
	for what, c := range map[string]struct {
		reasons []dynamotest.Reason
		kind    error // nil: a condition is not met
		action  int
		calls   int
	}{
		"a condition and a conflict":      {[]dynamotest.Reason{conflict, unmet}, nil, 1, 1},
		"a condition and a large item":    {[]dynamotest.Reason{large, unmet}, nil, 1, 1},
		"a conflict and a large item":     {[]dynamotest.Reason{conflict, large}, dynamo.ErrTooLarge, 1, 1},
		"a throttle and a collection":     {[]dynamotest.Reason{throttled, full}, dynamo.ErrCollectionFull, 1, 1},
		"a conflict, again and again":     {[]dynamotest.Reason{{}, conflict}, dynamo.ErrConflict, 1, 4},
		"a throttle, again and again":     {[]dynamotest.Reason{throttled}, dynamo.ErrThrottled, 0, 4},
		"the account's throttle":          {[]dynamotest.Reason{{}, {Code: "ThrottlingError"}}, dynamo.ErrThrottled, 1, 4},
		"no reason at all":                {nil, dynamo.ErrUnavailable, -1, 4},
		"a reason that nobody knows":      {[]dynamotest.Reason{{Code: "NewInventionError", Message: "SECRET"}}, nil, -2, 1},
		"a sum of more than 38 digits":    {[]dynamotest.Reason{{Code: "ValidationError", Message: "Attempting to store more than 38 significant digits in a Number"}}, dynamo.ErrNumber, 0, 1},
		"a value that the server quotes":  {[]dynamotest.Reason{{Code: "ValidationError", Message: "Invalid value: SECRET"}}, dynamo.ErrInvalid, 0, 1},
		"an action that is not permitted": {[]dynamotest.Reason{{}, {Code: "AccessDenied", Message: "SECRET"}}, dynamo.ErrDenied, 1, 1},
	} {
		t.Run(what, func(t *testing.T) {
			var faults dynamotest.Faults
			db := offline(t, &faults)
			cancel := dynamotest.Cancel(c.reasons...)
			faults.Next("TransactWriteItems", cancel, cancel, cancel, cancel)
			err := db.Transact(t.Context(), []dynamo.Action{add("a"), add("b")})
			if n := faults.Calls("TransactWriteItems"); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			withoutValues(t, err)
			if c.action == -2 {
				if !permanent(err) {
					t.Errorf("got %v, want a permanent error", err)
				}
				return
			}
			if c.kind == nil {
				e, ok := errors.AsType[*dynamo.ConditionError](err)
				if !ok || len(e.Unmet) != 1 || e.Unmet[0].ActionIndex != c.action || dynamo.Text(e.Unmet[0].Item, "says") != "newer" {
					t.Errorf("got %v", err)
				}
				return
			}
			e, ok := errors.AsType[*dynamo.Error](err)
			if !ok || !errors.Is(err, c.kind) || e.Action != c.action {
				t.Errorf("got %v, want action %d: %v", err, c.action, c.kind)
			}
		})
	}
}
