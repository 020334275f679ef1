package cost

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// withCapacity is the input of a request with the question how many units it takes. The
// caller's input stays as it is.
func withCapacity(parameters any) any {
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		return asking(in, func(in *dynamodb.GetItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.BatchGetItemInput:
		return asking(in, func(in *dynamodb.BatchGetItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.TransactGetItemsInput:
		return asking(in, func(in *dynamodb.TransactGetItemsInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	case *dynamodb.QueryInput:
		return asking(in, func(in *dynamodb.QueryInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.ScanInput:
		return asking(in, func(in *dynamodb.ScanInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.PutItemInput:
		return asking(in, func(in *dynamodb.PutItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.UpdateItemInput:
		return asking(in, func(in *dynamodb.UpdateItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.DeleteItemInput:
		return asking(in, func(in *dynamodb.DeleteItemInput) *types.ReturnConsumedCapacity { return &in.ReturnConsumedCapacity })
	case *dynamodb.BatchWriteItemInput:
		return asking(in, func(in *dynamodb.BatchWriteItemInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	case *dynamodb.TransactWriteItemsInput:
		return asking(in, func(in *dynamodb.TransactWriteItemsInput) *types.ReturnConsumedCapacity {
			return &in.ReturnConsumedCapacity
		})
	}
	return parameters
}

func asking[I any](in *I, of func(*I) *types.ReturnConsumedCapacity) any {
	if in == nil || *of(in) != "" {
		return in
	}
	with := *in
	*of(&with) = types.ReturnConsumedCapacityTotal
	return &with
}

// capacity is what an answer of DynamoDB says that the request took.
func capacity(result any) usage {
	switch out := result.(type) {
	case *dynamodb.GetItemOutput:
		return took("read", out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return took("read", out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		return took("read", out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		return tookAll("read", out.ConsumedCapacity)
	case *dynamodb.TransactGetItemsOutput:
		return tookAll("read", out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		return took("write", out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return took("write", out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		return took("write", out.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		return tookAll("write", out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		return tookAll("write", out.ConsumedCapacity)
	}
	return usage{}
}

func took(unit string, c *types.ConsumedCapacity) usage {
	if c == nil || c.CapacityUnits == nil {
		return usage{}
	}
	return usage{unit, *c.CapacityUnits}
}

func tookAll(unit string, all []types.ConsumedCapacity) usage {
	u := usage{unit: unit}
	for i := range all {
		u.n += took(unit, &all[i]).n
	}
	return u
}

// usageOfFailed is the least that a failed call was billed.
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
