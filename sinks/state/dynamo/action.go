package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Condition is the condition of an action. The zero Condition is always met.
type Condition struct {
	Text   string
	Names  map[string]string
	Values Item
	Old    bool // a refusal shows the stored item
}

func (c *Condition) text() *string {
	if c.Text == "" {
		return nil
	}
	return &c.Text
}

func (c *Condition) returns() types.ReturnValuesOnConditionCheckFailure {
	if c.Old {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}

// Put is the action that puts an item into a table.
func Put(table string, item Item, c Condition) Action {
	return Action{Put: &types.Put{
		TableName: &table, Item: item,
		ConditionExpression: c.text(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returns(),
	}}
}

// Delete is the action that deletes an item.
func Delete(ref Ref, c Condition) Action {
	return Action{Delete: &types.Delete{
		TableName: &ref.Table, Key: ref.Key,
		ConditionExpression: c.text(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returns(),
	}}
}

// Check is the action that checks an item.
func Check(ref Ref, c Condition) Action {
	return Action{ConditionCheck: &types.ConditionCheck{
		TableName: &ref.Table, Key: ref.Key,
		ConditionExpression: c.text(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returns(),
	}}
}

// Update is the action that updates an item by an expression, which shares names and values with the condition.
func Update(ref Ref, expression string, c Condition) Action {
	return Action{Update: &types.Update{
		TableName: &ref.Table, Key: ref.Key, UpdateExpression: &expression,
		ConditionExpression: c.text(), ExpressionAttributeNames: c.Names, ExpressionAttributeValues: c.Values,
		ReturnValuesOnConditionCheckFailure: c.returns(),
	}}
}
