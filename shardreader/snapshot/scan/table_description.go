package scan

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/awshttp"
)

// Client has the methods of *dynamodb.Client that this package calls.
type Client interface {
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)

// Table describes a table.
type Table struct {
	Name, ARN     string
	StreamARN     string    // ARN of the newest stream, enabled or not; "" if the table never had one
	StreamEnabled bool      // the newest stream is enabled
	Keys          []string  // names of the key attributes, partition key first
	KeyTypes      []string  // types of Keys, in the same order: S, N or B
	Created       time.Time // UTC

	// DynamoDB counts items and bytes about every six hours, so both are approximate (API reference, TableDescription).
	Items, Bytes int64
}

// Describe describes the table whose name or ARN is table. It returns an error if the table cannot be read, for example
// because it is being created or deleted.
func Describe(ctx context.Context, client Client, table string) (Table, error) {
	op := "DescribeTable of " + table
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, checkAnswers)
	if err != nil {
		return Table{}, fmt.Errorf("scan: %w", awserr.CallError(ctx, op, err, map[awserr.Kind]string{
			awserr.Denied:  "allow dynamodb:DescribeTable on the table",
			awserr.Missing: "check name, Region and account",
		}))
	}
	d := out.Table
	switch d.TableStatus {
	case types.TableStatusCreating, types.TableStatusDeleting, types.TableStatusArchived, types.TableStatusArchiving,
		types.TableStatusInaccessibleEncryptionCredentials:
		return Table{}, errs.Errorf("scan: the table %s is %s: it cannot be read", table, d.TableStatus)
	}
	t := Table{
		Name: aws.ToString(d.TableName), ARN: aws.ToString(d.TableArn),
		StreamARN:     aws.ToString(d.LatestStreamArn),
		StreamEnabled: d.StreamSpecification != nil && aws.ToBool(d.StreamSpecification.StreamEnabled),
		Created:       aws.ToTime(d.CreationDateTime).UTC(),
		Items:         aws.ToInt64(d.ItemCount), Bytes: aws.ToInt64(d.TableSizeBytes),
	}
	for _, kind := range []types.KeyType{types.KeyTypeHash, types.KeyTypeRange} {
		for _, k := range d.KeySchema {
			if k.KeyType == kind {
				name := aws.ToString(k.AttributeName)
				t.Keys, t.KeyTypes = append(t.Keys, name), append(t.KeyTypes, typeOf(d, name))
			}
		}
	}
	if len(t.Keys) == 0 {
		return Table{}, errs.Errorf("scan: the description of the table %s has no key schema", table)
	}
	return t, nil
}

// typeOf returns the type of an attribute in the table's definition; "" if it is not defined.
func typeOf(d *types.TableDescription, name string) string {
	for _, a := range d.AttributeDefinitions {
		if aws.ToString(a.AttributeName) == name {
			return string(a.AttributeType)
		}
	}
	return ""
}

// checkAnswers is an option of each call. The SDK retries if an answer does not come from DynamoDB, but from a proxy.
// KeepBody keeps an answer whole that comes before the request is fully sent.
func checkAnswers(o *dynamodb.Options) {
	o.HTTPClient = awshttp.Verify(awshttp.KeepBody(o.HTTPClient))
}
