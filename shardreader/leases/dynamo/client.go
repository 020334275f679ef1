package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	state "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// Client has the methods of *dynamodb.Client that this package calls. Only [Table.CreateTables] needs the rights for
// CreateTable, UpdateTimeToLive and DescribeTimeToLive.
type Client interface {
	state.Client

	GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)
