package cost

import (
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// withCapacity returns a copy of a request with ReturnConsumedCapacity TOTAL. If the request does not have this field,
// or the caller has set it, withCapacity returns the request itself.
func withCapacity(parameters any) any {
	const name = "ReturnConsumedCapacity"
	requested, hasField := fieldOf(parameters, name).(types.ReturnConsumedCapacity)
	if !hasField || requested != "" {
		return parameters
	}
	original := reflect.ValueOf(parameters).Elem()
	changed := reflect.New(original.Type())
	changed.Elem().Set(original)
	changed.Elem().FieldByName(name).Set(reflect.ValueOf(types.ReturnConsumedCapacityTotal))
	return changed.Interface()
}

// capacity returns the units in an answer of DynamoDB, or the zero usage if the answer has none.
func capacity(result any) usage {
	u := usage{unit: "read"}
	switch result.(type) {
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput, *dynamodb.BatchWriteItemOutput,
		*dynamodb.TransactWriteItemsOutput:
		u.unit = "write"
	}
	switch c := fieldOf(result, "ConsumedCapacity").(type) {
	case *types.ConsumedCapacity:
		if c == nil || c.CapacityUnits == nil {
			return usage{}
		}
		u.quantity = *c.CapacityUnits
	case []types.ConsumedCapacity:
		for _, each := range c {
			u.quantity += aws.ToFloat64(each.CapacityUnits)
		}
	default:
		return usage{}
	}
	return u
}

// fieldOf returns the field of the struct that p points to. It is nil if p is nil or has no such field.
func fieldOf(p any, name string) any {
	pointer := reflect.ValueOf(p)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return nil
	}
	f := pointer.Elem().FieldByName(name)
	if !f.IsValid() {
		return nil
	}
	return f.Interface()
}

// usageOfFailed returns the smallest number of units that AWS can have billed for a failed call.
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
