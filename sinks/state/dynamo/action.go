package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Condition is the condition of an action. The zero Condition is always met.
type Condition struct {
	Text   string
	Names  map[string]string
	Values Item
	Old    bool // if the condition is not met, the error has the stored item; see [Unmet]
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
	if c.Old {
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
