package dynamo_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/test/faults"
)

// Only an answer of the service moves a checkpoint, takes a shard, or says that there are no leases. Each is tried
// again.
func TestAnswersThatAreNotTheServices(t *testing.T) {
	lease := leases.Lease{Shard: "s", Owner: "a", Counter: 1}
	next := lease
	next.Counter, next.Checkpoint = 2, leases.After("1001")
	calls := map[string]func(context.Context, *dynamo.Table) error{
		"Create": func(ctx context.Context, t *dynamo.Table) error { return t.Create(ctx, lease) },
		"Swap":   func(ctx context.Context, t *dynamo.Table) error { return t.Swap(ctx, lease, next) },
		"Delete": func(ctx context.Context, t *dynamo.Table) error { return t.Delete(ctx, lease) },
		"Read": func(ctx context.Context, t *dynamo.Table) error {
			_, err := t.Read(ctx)
			return err
		},
	}
	for op, call := range calls {
		for _, a := range faults.Answers() {
			if a.Done && op != "Read" {
				continue // it is the service's text about a write
			}
			t.Run(op+" "+a.Name, func(t *testing.T) {
				table, err := dynamo.New(dynamo.Options{Table: "leases", StateTable: "state", Pipeline: "shop", Client: dynamodb.New(dynamodb.Options{
					Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), RetryMaxAttempts: 1, HTTPClient: a,
				})})
				if err != nil {
					t.Fatal(err)
				}
				err = call(t.Context(), table)
				if _, again := pipeline.Retryable(err); !again || pipeline.IsFatal(err) || strings.Contains(err.Error(), "hello") {
					t.Errorf("%s is answered %s: %v", op, a.Name, err)
				}
			})
		}
	}
}
