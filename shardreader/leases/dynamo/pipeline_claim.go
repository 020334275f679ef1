package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	state "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// attrPipeline is the attribute with the name of the pipeline that owns the lease table.
const attrPipeline = "pipeline"

// Claim reserves the lease table for this pipeline. If another pipeline with the same state table has claimed it, the
// error is fatal. Two pipelines do not see each other's members: each would take the shards of the other, and skip the
// records that the other has read.
func (t *Table) Claim(ctx context.Context) error {
	row := Item{
		attrPK: textAttribute(sharedLeases + escaped(t.options.Table)), attrSK: textAttribute("-"),
		attrPipeline: textAttribute(t.options.Pipeline),
	}
	_, err := write(ctx, t.options.Client.PutItem, &dynamodb.PutItemInput{
		TableName: &t.options.StateTable, Item: row,
		ConditionExpression:                 aws.String("attribute_not_exists(" + attrPK + ") OR #p = :p"),
		ExpressionAttributeNames:            map[string]string{"#p": attrPipeline},
		ExpressionAttributeValues:           Item{":p": row[attrPipeline]},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	failedCheck, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !refused {
		return callError(ctx, "PutItem", t.options.StateTable, err)
	}
	r := rowReader{row: failedCheck.Item}
	return pipeline.Fatal(&state.Error{
		Op: "Claim", Table: t.options.Table, Action: -1, Detail: "these are the leases of the pipeline " + r.readText(attrPipeline) +
			", and this one is " + t.options.Pipeline,
		Hint: "give each pipeline a lease table of its own; if it was renamed, delete the item " + sharedLeases +
			escaped(t.options.Table) + " of the state table " + t.options.StateTable,
		Err: err,
	})
}
