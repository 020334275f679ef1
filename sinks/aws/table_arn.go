package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	c := dynamodb.NewFromConfig(b.sdk, func(o *dynamodb.Options) { o.RetryMaxAttempts, o.Region = attempts, a.Region })
	return &arnClient{c, t.Name, t.ARN}
}

// arnClient replaces the name of a table by its ARN, in the calls for rows whose tombstones are in place. CreateTable
// keeps the name, because an account can create only its own tables.
type arnClient struct {
	statedynamo.Client
	name, arn string
}

// replaceName replaces the name of the table in a request.
func (c *arnClient) replaceName(name **string) {
	if *name != nil && **name == c.name {
		*name = &c.arn
	}
}

func (c *arnClient) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.PutItem(ctx, in, o...)
}

func (c *arnClient) Query(
	ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.Query(ctx, in, o...)
}

func (c *arnClient) Scan(
	ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options),
) (*dynamodb.ScanOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.Scan(ctx, in, o...)
}

func (c *arnClient) DescribeTable(
	ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.DescribeTable(ctx, in, o...)
}

func (c *arnClient) DescribeTimeToLive(
	ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTimeToLiveOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.DescribeTimeToLive(ctx, in, o...)
}

func (c *arnClient) UpdateTimeToLive(
	ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, o ...func(*dynamodb.Options),
) (*dynamodb.UpdateTimeToLiveOutput, error) {
	c.replaceName(&in.TableName)
	return c.Client.UpdateTimeToLive(ctx, in, o...)
}

// BatchGetItem replaces the name of the table in the request, and restores it in the answer.
func (c *arnClient) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	renamed := *in
	renamed.RequestItems = map[string]types.KeysAndAttributes{}
	for name, keys := range in.RequestItems {
		if name == c.name {
			name = c.arn
		}
		renamed.RequestItems[name] = keys
	}
	out, err := c.Client.BatchGetItem(ctx, &renamed, o...)
	if err != nil {
		return out, err
	}
	if items, ok := out.Responses[c.arn]; ok {
		delete(out.Responses, c.arn)
		out.Responses[c.name] = items
	}
	if keys, ok := out.UnprocessedKeys[c.arn]; ok {
		delete(out.UnprocessedKeys, c.arn)
		out.UnprocessedKeys[c.name] = keys
	}
	return out, nil
}
