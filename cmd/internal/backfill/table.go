package backfill

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// describeTable describes the source table.
func (j *job) describeTable(ctx context.Context) (scan.Table, error) {
	return scan.Describe(ctx, dynamodb.NewFromConfig(j.aws), j.tableName())
}

// tableKeys returns the names of the table's key attributes: those of --keys, or the table's.
func (j *job) tableKeys(ctx context.Context) ([]string, error) {
	if len(j.o.keys) > 0 {
		j.keys = j.o.keys
		return j.keys, nil
	}
	if !j.o.Live {
		return nil, cli.Usagef("name the key attributes of the table with --keys PK,SK: a --local folder asks no table")
	}
	table, err := j.describeTable(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w (--keys names the key attributes without asking the table)", err)
	}
	j.keys = table.Keys
	return j.keys, nil
}
