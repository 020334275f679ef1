package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// MaxActions is how many actions a transaction may have.
// (DynamoDB API reference, TransactWriteItems)
const MaxActions = 100

// Action is one write of a transaction, or a check alone. A Put, Update, Delete or
// ConditionCheck that asks for the old item in ReturnValuesOnConditionCheckFailure has it
// in [Unmet.Item].
type Action = types.TransactWriteItem

// ConditionError says that nothing was written because conditions are not met. It
// is how a writer learns that another was first, and marked as nothing: who gets it
// reads again.
type ConditionError struct {
	Unmet []Unmet // in the order of the actions; one at least
}

// Unmet is an action whose condition is not met.
type Unmet struct {
	Action int
	Item   Item // as it stands; nil where there is none, or where the action did not ask for it
}

var _ redact.Redacted = (*ConditionError)(nil)

// Error names the actions.
func (e *ConditionError) Error() string {
	actions := make([]string, len(e.Unmet))
	for i, u := range e.Unmet {
		actions[i] = fmt.Sprint(u.Action)
	}
	return "dynamodb: what was read is not what stands there any more (action " + strings.Join(actions, ", ") + ")"
}

// Redacted is Error.
func (e *ConditionError) Redacted() string { return e.Error() }

// Describe is its class.
func (e *ConditionError) Describe() (class, field string) { return "conflict", "" }

// Transact writes all actions, or none. It returns nil when they are durable. The error
// is a *[ConditionError] where conditions are not met, and else one as [Error] says, whose
// Action is the one at fault. A conflict, a throttle and a lost answer are tried again
// first, under one client token, so that nothing is written twice.
//
// No two actions may be on one item.
func (db *DB) Transact(ctx context.Context, actions []Action) error {
	switch n := len(actions); {
	case n == 0:
		return nil
	case n > MaxActions:
		return errs.Errorf("dynamodb: a transaction of %d actions: it takes at most %d", n, MaxActions)
	}
	in := &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: aws.String(rand.Text())}
	_, err := call(ctx, db, "TransactWriteItems", "", in, db.client.TransactWriteItems)
	return err
}

// Write is one action by itself, at half the price of a transaction; a check alone is
// not one. It returns as Transact does. It has no client token: after a lost answer it
// is sent again, so that its condition must fail on what it wrote itself, or it must do no
// harm twice.
func (db *DB) Write(ctx context.Context, a Action) (err error) {
	switch {
	case a.Put != nil:
		p := a.Put
		_, err = call(ctx, db, "PutItem", *p.TableName, &dynamodb.PutItemInput{
			TableName: p.TableName, Item: p.Item,
			ConditionExpression: p.ConditionExpression, ExpressionAttributeNames: p.ExpressionAttributeNames,
			ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		}, db.client.PutItem)
	case a.Update != nil:
		u := a.Update
		_, err = call(ctx, db, "UpdateItem", *u.TableName, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
			ConditionExpression: u.ConditionExpression, ExpressionAttributeNames: u.ExpressionAttributeNames,
			ExpressionAttributeValues: u.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
		}, db.client.UpdateItem)
	case a.Delete != nil:
		d := a.Delete
		_, err = call(ctx, db, "DeleteItem", *d.TableName, &dynamodb.DeleteItemInput{
			TableName: d.TableName, Key: d.Key,
			ConditionExpression: d.ConditionExpression, ExpressionAttributeNames: d.ExpressionAttributeNames,
			ExpressionAttributeValues: d.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: d.ReturnValuesOnConditionCheckFailure,
		}, db.client.DeleteItem)
	default:
		return errs.New("dynamodb: an action that writes nothing")
	}
	return err
}

// writeIf is Write of an action with a condition; false, without an error, if that is not met.
func (db *DB) writeIf(ctx context.Context, a Action) (bool, error) {
	err := db.Write(ctx, a)
	if _, unmet := errors.AsType[*ConditionError](err); unmet {
		return false, nil
	}
	return err == nil, err
}

// put writes an item of the state table.
func (db *DB) put(ctx context.Context, ref Ref, attributes Item) error {
	return db.Write(ctx, Put(ref.Table, with(ref.Key, attributes), Condition{}))
}

// conditions is the ConditionError that err comes to, nil where it is another one. A
// condition that is not met comes before all else that a transaction was cancelled
// for: what the actions were made from is out of date.
func conditions(err error) error {
	if c, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return &ConditionError{Unmet: []Unmet{{Item: c.Item}}}
	}
	c, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	var unmet []Unmet
	for i, r := range c.CancellationReasons {
		if aws.ToString(r.Code) == "ConditionalCheckFailed" {
			unmet = append(unmet, Unmet{Action: i, Item: r.Item})
		}
	}
	if unmet == nil {
		return nil
	}
	return &ConditionError{Unmet: unmet}
}

// cancelled is the error of a transaction by the reasons of its actions: that of
// one which no retry helps, if there is any, and else the first.
func cancelled(op string, c *types.TransactionCanceledException) error {
	var first error
	for i, r := range c.CancellationReasons {
		code := aws.ToString(r.Code)
		if code == "" || code == "None" {
			continue
		}
		e := &Error{Op: op, Action: i, Code: code, Err: c}
		e.Detail, e.Kind = kindOf(code, aws.ToString(r.Message))
		err := e.marked(0)
		if _, again := pipeline.Retryable(err); !again {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil { // no reason: it is not known what to hold against which action
		first = pipeline.Transient(&Error{Op: op, Action: -1, Code: c.ErrorCode(), Err: c, Kind: ErrUnavailable})
	}
	return first
}
