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

// MaxActions is the maximum number of actions of a transaction
// (DynamoDB API reference, TransactWriteItems).
const MaxActions = 100

// Action is one write of a transaction, or only a check. If its ReturnValuesOnConditionCheckFailure is ALL_OLD and its
// condition is not met, [Unmet].Item is the stored item.
type Action = types.TransactWriteItem

// ConditionError reports that nothing was written because conditions are not met: another writer was first. The error
// is neither transient nor fatal. The caller reads the items again and makes new actions.
type ConditionError struct {
	Unmet []Unmet // in the order of the actions; at least one
}

// Unmet is an action whose condition is not met.
type Unmet struct {
	ActionIndex int  // index of the action
	Item        Item // the stored item; nil if the item is missing, or if the action did not request it
}

var _ redact.Redacted = (*ConditionError)(nil)

// Error returns a text with the indexes of the actions.
func (e *ConditionError) Error() string {
	actions := make([]string, len(e.Unmet))
	for i, u := range e.Unmet {
		actions[i] = fmt.Sprint(u.ActionIndex)
	}
	return "dynamodb: the item is no longer as it was read (action " + strings.Join(actions, ", ") + ")"
}

// Redacted returns Error.
func (e *ConditionError) Redacted() string { return e.Error() }

// Describe returns the class of the error.
func (e *ConditionError) Describe() (class, field string) { return "conflict", "" }

// Transact writes all actions, or none. It returns nil when all are durable. The error is a *[ConditionError] if
// conditions are not met. Otherwise it is an [Error] whose Action is the failed action. After a conflict, throttling or
// a lost answer, Transact first retries with the same client token, so that nothing is written twice.
//
// Two actions may not use the same item.
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

// Write writes one action without a transaction, at half the price. The action must not be only a check. Write returns
// the same errors as Transact. It has no client token, so it repeats the write after a lost answer. The caller makes
// sure that the repeated write is harmless, or that its condition fails after the first write.
func (db *DB) Write(ctx context.Context, a Action) (err error) {
	switch {
	case a.Put != nil:
		p := a.Put
		_, err = call(ctx, db, "PutItem", *p.TableName, &dynamodb.PutItemInput{
			TableName: p.TableName, Item: p.Item,
			ConditionExpression: p.ConditionExpression, ExpressionAttributeNames: p.ExpressionAttributeNames,
			ExpressionAttributeValues:           p.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure,
		}, db.client.PutItem)
	case a.Update != nil:
		u := a.Update
		_, err = call(ctx, db, "UpdateItem", *u.TableName, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
			ConditionExpression: u.ConditionExpression, ExpressionAttributeNames: u.ExpressionAttributeNames,
			ExpressionAttributeValues:           u.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
		}, db.client.UpdateItem)
	case a.Delete != nil:
		d := a.Delete
		_, err = call(ctx, db, "DeleteItem", *d.TableName, &dynamodb.DeleteItemInput{
			TableName: d.TableName, Key: d.Key,
			ConditionExpression: d.ConditionExpression, ExpressionAttributeNames: d.ExpressionAttributeNames,
			ExpressionAttributeValues:           d.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: d.ReturnValuesOnConditionCheckFailure,
		}, db.client.DeleteItem)
	default:
		return errs.New("dynamodb: an action that writes nothing")
	}
	return err
}

// writeIf writes an action with a condition, as Write does. It returns false and no error if the condition is not met.
func (db *DB) writeIf(ctx context.Context, a Action) (bool, error) {
	err := db.Write(ctx, a)
	if _, unmet := errors.AsType[*ConditionError](err); unmet {
		return false, nil
	}
	return err == nil, err
}

// unmetConditions returns a ConditionError with the conditions that err reports as not met. It returns nil if err
// reports no such condition. A condition that is not met takes precedence over all other reasons of a cancelled
// transaction, because it shows that the actions were made from data that has changed.
func unmetConditions(err error) error {
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
			unmet = append(unmet, Unmet{ActionIndex: i, Item: r.Item})
		}
	}
	if unmet == nil {
		return nil
	}
	return &ConditionError{Unmet: unmet}
}

// cancellationError returns the error of a cancelled transaction. It is the first reason that is not transient or, if
// all reasons are transient, the first reason.
func cancellationError(op string, c *types.TransactionCanceledException) error {
	var first error
	for i, r := range c.CancellationReasons {
		code := aws.ToString(r.Code)
		if code == "" || code == "None" {
			continue
		}

		e := &Error{Op: op, Action: i, Code: code, Err: c}
		e.Detail, e.Kind = kindOf(code, aws.ToString(r.Message))
		err := e.marked(0)
		if _, retryable := pipeline.Retryable(err); !retryable {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil { // the server gave no reason
		first = pipeline.Transient(&Error{Op: op, Action: -1, Code: c.ErrorCode(), Err: c, Kind: ErrUnavailable})
	}
	return first
}

// Condition is the condition of an action. The zero Condition is always met.
type Condition struct {
	Text         string
	Names        map[string]string
	Values       Item
	ReturnStored bool // if the condition is not met, the error has the stored item; see [Unmet]
}

// notStored is the condition that the state table has no item with the key.
var notStored = Condition{Text: "attribute_not_exists(pk)"}

func (c *Condition) expressionText() *string {
	if c.Text == "" {
		return nil
	}
	return &c.Text
}

func (c *Condition) returnValues() types.ReturnValuesOnConditionCheckFailure {
	if c.ReturnStored {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}

// Put returns the action that puts an item into a table.
func Put(table string, item Item, c Condition) Action {
	return Action{Put: &types.Put{
		TableName: &table, Item: item,
		ConditionExpression: c.expressionText(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returnValues(),
	}}
}

// Delete returns the action that deletes an item.
func Delete(ref Ref, c Condition) Action {
	return Action{Delete: &types.Delete{
		TableName: &ref.Table, Key: ref.Key,
		ConditionExpression: c.expressionText(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returnValues(),
	}}
}

// Check returns the action that only checks a condition on an item.
func Check(ref Ref, c Condition) Action {
	return Action{ConditionCheck: &types.ConditionCheck{
		TableName: &ref.Table, Key: ref.Key,
		ConditionExpression: c.expressionText(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returnValues(),
	}}
}

// Update returns the action that updates an item by an expression. The expression and the condition share the names and
// values of c.
func Update(ref Ref, expression string, c Condition) Action {
	return Action{Update: &types.Update{
		TableName: &ref.Table, Key: ref.Key, UpdateExpression: &expression,
		ConditionExpression: c.expressionText(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returnValues(),
	}}
}
