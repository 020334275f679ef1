package aws

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// SameRegion returns an error if table is an ARN with another Region than the Region of sdk. Calls with the table's
// name would not reach such a table. setting is the key of the table in the file, for the error.
func SameRegion(setting, table string, sdk aws.Config) error {
	a, _ := arn.Parse(table) // a name has no Region
	if a.Region == "" || a.Region == sdk.Region {
		return nil
	}
	return fmt.Errorf(
		"%s is %s, in another Region than this process (%s): run it in the table's Region (AWS_REGION), or name a table of this one", setting, table, sdk.Region)
}

// tableClient returns the client of a table. If the file gives the ARN of the table, the client calls the Region of the
// ARN, and uses the ARN as the table's name. So it also reaches a table of another account.
func (b *Bundle) tableClient(t rowTable) statedynamo.Client {
	a, err := arn.Parse(t.ARN)
	if err != nil {
		return b.dynamodb
	}
	return dynamodb.NewFromConfig(b.sdk, func(o *dynamodb.Options) {
		o.RetryMaxAttempts, o.Region = attempts, a.Region
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(&arnNames{t.Name, t.ARN}, middleware.Before)
		})
	})
}

// arnNames replaces the name of a table by its ARN, in the calls for rows whose tombstones are in place. CreateTable
// keeps the name, because an account can create only its own tables.
type arnNames struct{ name, arn string }

// ID returns the name of the step.
func (n *arnNames) ID() string { return "TableARN" }

// HandleInitialize replaces the name in a request. The answer has the name again.
func (n *arnNames) HandleInitialize(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	switch p := in.Parameters.(type) {
	case *dynamodb.PutItemInput:
		n.replace(&p.TableName)
	case *dynamodb.QueryInput:
		n.replace(&p.TableName)
	case *dynamodb.ScanInput:
		n.replace(&p.TableName)
	case *dynamodb.DescribeTableInput:
		n.replace(&p.TableName)
	case *dynamodb.DescribeTimeToLiveInput:
		n.replace(&p.TableName)
	case *dynamodb.UpdateTimeToLiveInput:
		n.replace(&p.TableName)
	case *dynamodb.BatchGetItemInput:
		request := *p
		request.RequestItems = maps.Clone(p.RequestItems)
		rename(request.RequestItems, n.name, n.arn)
		in.Parameters = &request
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	if answer, ok := out.Result.(*dynamodb.BatchGetItemOutput); ok && err == nil {
		rename(answer.Responses, n.arn, n.name)
		rename(answer.UnprocessedKeys, n.arn, n.name)
	}
	return out, metadata, err
}

func (n *arnNames) replace(table **string) {
	if *table != nil && **table == n.name {
		*table = &n.arn
	}
}

// rename moves byTable[from] to byTable[to].
func rename[V any](byTable map[string]V, from, to string) {
	if value, ok := byTable[from]; ok {
		delete(byTable, from)
		byTable[to] = value
	}
}
