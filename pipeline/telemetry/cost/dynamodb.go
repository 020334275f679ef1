package cost

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// withCapacity returns a copy of a request that asks for the consumed capacity.
func withCapacity(parameters any) any {
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		return withCapacityField(in, func(in *dynamodb.GetItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.BatchGetItemInput:
		return withCapacityField(in, func(in *dynamodb.BatchGetItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.TransactGetItemsInput:
		return withCapacityField(in, func(in *dynamodb.TransactGetItemsInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	case *dynamodb.QueryInput:
		return withCapacityField(in, func(in *dynamodb.QueryInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.ScanInput:
		return withCapacityField(in, func(in *dynamodb.ScanInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.PutItemInput:
		return withCapacityField(in, func(in *dynamodb.PutItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.UpdateItemInput:
		return withCapacityField(in, func(in *dynamodb.UpdateItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.DeleteItemInput:
		return withCapacityField(in, func(in *dynamodb.DeleteItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.BatchWriteItemInput:
		return withCapacityField(in, func(in *dynamodb.BatchWriteItemInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	case *dynamodb.TransactWriteItemsInput:
		return withCapacityField(in, func(in *dynamodb.TransactWriteItemsInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	}
	return parameters
}

func withCapacityField[I any](in *I, of func(*I) *types.ReturnConsumedCapacity) any {
	if in == nil || *of(in) != "" {
		return in
	}
	with := *in
	*of(&with) = types.ReturnConsumedCapacityTotal
	return &with
}

// capacity returns the consumed units of an answer of DynamoDB.
func capacity(result any) usage {
	switch out := result.(type) {
	case *dynamodb.GetItemOutput:
		return consumed("read", out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return consumed("read", out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		return consumed("read", out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		return consumedAll("read", out.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		return consumedAll("read", out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		return consumed("write", out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return consumed("write", out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		return consumed("write", out.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		return consumedAll("write", out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		return consumedAll("write", out.ConsumedCapacity)
	}
	return usage{}
}

func consumed(unit string, c *types.ConsumedCapacity) usage {
	if c == nil || c.CapacityUnits == nil {
		return usage{}
	}
	return usage{unit, *c.CapacityUnits}
}

func consumedAll(unit string, all []types.ConsumedCapacity) usage {
	u := usage{unit: unit}
	for i := range all {
		u.n += consumed(unit, &all[i]).n
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
