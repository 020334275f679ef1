package cost

import (
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// withCapacity returns a copy of a request that asks for the consumed capacity; the request itself if it cannot ask.
func withCapacity(parameters any) any {
	const field = "ReturnConsumedCapacity"
	in := reflect.Indirect(reflect.ValueOf(parameters))
	if in.Kind() != reflect.Struct || !in.FieldByName(field).IsValid() || !in.FieldByName(field).IsZero() {
		return parameters
	}
	with := reflect.New(in.Type())
	with.Elem().Set(in)
	with.Elem().FieldByName(field).SetString(string(types.ReturnConsumedCapacityTotal))
	return with.Interface()
}

// capacity returns the consumed units of an answer of DynamoDB.
func capacity(result any) usage {
	var u usage
	switch result.(type) {
	case *dynamodb.GetItemOutput, *dynamodb.QueryOutput, *dynamodb.ScanOutput, *dynamodb.BatchGetItemOutput, *dynamodb.TransactGetItemsOutput:
		u.unit = "read"
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput, *dynamodb.BatchWriteItemOutput, *dynamodb.TransactWriteItemsOutput:
		u.unit = "write"
	default:
		return u
	}
	var all []types.ConsumedCapacity
	switch c := reflect.ValueOf(result).Elem().FieldByName("ConsumedCapacity").Interface().(type) {
	case []types.ConsumedCapacity:
		all = c
	case *types.ConsumedCapacity:
		if c != nil {
			all = []types.ConsumedCapacity{*c}
		}
	}
	for _, c := range all {
		u.n += aws.ToFloat64(c.CapacityUnits)
	}
	return u
}

// usageOfFailed returns the smallest number of units that a failed call was billed.
func usageOfFailed(parameters any, err error) usage {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return usage{"write", 1}
	}
	if _, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		if in, ok := parameters.(*dynamodb.TransactWriteItemsInput); ok {
			return usage{"write", 2 * float64(len(in.TransactItems))}
		}
	}
	return usage{}
}
