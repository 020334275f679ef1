package tail

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader"
)

// describer is a DynamoDB that describes one table.
type describer struct {
	table *types.TableDescription
	err   error
	name  string // table of the call
}

// DescribeTable returns the description.
func (d *describer) DescribeTable(
	_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	d.name = aws.ToString(in.TableName)
	return &dynamodb.DescribeTableOutput{Table: d.table}, d.err
}

// Fact 8: a shard of a global table has at most one reader, so tail refuses a global table.
func TestFact8_GlobalTablesAreRefused(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
	ref := shardreader.StreamFromARN(arn + "/stream/2026-01-02T03:04:05.678")
	replicas := []types.ReplicaDescription{{RegionName: aws.String("eu-west-1")}}
	legacy := &types.TableDescription{GlobalTableVersion: aws.String("2017.11.29")}
	for name, tt := range map[string]struct {
		table *types.TableDescription
		err   error
		want  string // part of the error; "": no error
	}{
		"a table":        {table: &types.TableDescription{}},
		"with replicas":  {table: &types.TableDescription{Replicas: replicas}, want: "shop is a global table"},
		"of any version": {table: legacy, want: "--force reads it"},
		"denied":         {err: errors.New("no right"), want: "no right; allow dynamodb:DescribeTable, or read"},
		"no table":       {want: "it is unknown whether shop is a global table"},
	} {
		d := &describer{table: tt.table, err: tt.err}
		err := refuseGlobalTable(t.Context(), d, ref)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if d.name != arn {
			t.Errorf("%s: %s was described, want %s", name, d.name, arn)
		}
	}
}
