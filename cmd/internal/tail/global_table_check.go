package tail

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/shardreader"
)

// refuseGlobalTable returns an error if the table of a stream is a global table, or if it is unknown whether it is one.
// A shard of a global table may have only one reader (Developer Guide, "Reading and processing a stream"), and that may
// be a consumer.
func refuseGlobalTable(ctx context.Context, tables dynamodb.DescribeTableAPIClient, ref shardreader.StreamRef) error {
	arn, _, _ := strings.Cut(ref.ARN, "/stream/")
	out, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &arn})
	if err == nil && out.Table == nil {
		err = errors.New("the answer describes no table")
	}
	if err != nil {
		return fmt.Errorf("it is unknown whether %s is a global table, whose shards have at most one reader: %w; "+
			"allow dynamodb:DescribeTable, or read it with --force", ref.Table, awserr.WithoutOperation(err))
	}
	if len(out.Table.Replicas) > 0 || out.Table.GlobalTableVersion != nil {
		return fmt.Errorf("%s is a global table, whose shards have at most one reader: beside a consumer, tail slows it; "+
			"--force reads it", ref.Table)
	}
	return nil
}
