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

// elsewhere reports whether an ARN is of another Region than the clients'.
func (b *Bundle) elsewhere(table string) bool { return SameRegion("", table, b.sdk) != nil }

// SameRegion is the error of a table that calls by its name would miss: the file gives its ARN, which is of
// another Region than the clients of sdk. setting is what names it in the file.
func SameRegion(setting, table string, sdk aws.Config) error {
	a, _ := arn.Parse(table) // a name has no Region
	if a.Region == "" || a.Region == sdk.Region {
		return nil
	}
	return fmt.Errorf("%s is %s, in another Region than this process (%s): run it in the table's Region (AWS_REGION), or name a table of this one", setting, table, sdk.Region)
}

// clientOf is the client of a table. Where the file gives its ARN, calls go to the ARN's
// Region, and name the table by it: so a table of another account is reached.
func (b *Bundle) clientOf(t rowTable) statedynamo.Client {
	a, err := arn.Parse(t.ARN)
	if err != nil {
		return b.dynamodb
	}
	c := dynamodb.NewFromConfig(b.sdk, func(o *dynamodb.Options) { o.RetryMaxAttempts, o.Region = attempts, a.Region })
	return &byARN{c, t.Name, t.ARN}
}

// byARN names one table by its ARN in the calls that rows in place take. It is made by its
// name: an account makes its own tables.
type byARN struct {
	statedynamo.Client
	name, arn string
}

func (c *byARN) table(name **string) {
	if *name != nil && **name == c.name {
		*name = &c.arn
	}
}

func (c *byARN) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.table(&in.TableName)
	return c.Client.PutItem(ctx, in, o...)
}

func (c *byARN) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.table(&in.TableName)
	return c.Client.Query(ctx, in, o...)
}

func (c *byARN) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	c.table(&in.TableName)
	return c.Client.Scan(ctx, in, o...)
}

func (c *byARN) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	c.table(&in.TableName)
	return c.Client.DescribeTable(ctx, in, o...)
}

func (c *byARN) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	c.table(&in.TableName)
	return c.Client.DescribeTimeToLive(ctx, in, o...)
}

func (c *byARN) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	c.table(&in.TableName)
	return c.Client.UpdateTimeToLive(ctx, in, o...)
}

// BatchGetItem takes the answer of the table by its name and by its ARN.
func (c *byARN) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
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
