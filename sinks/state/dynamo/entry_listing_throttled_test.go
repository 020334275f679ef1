package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// A listing with a function Throttled repeats throttled requests until they are answered or the context ends. Without
// this function, the listing fails after a few attempts.
func TestThrottledListing(t *testing.T) {
	denied := dynamotest.Refuse(http.StatusBadRequest, "AccessDeniedException", "")
	synctest.Test(t, func(t *testing.T) {
		var faults dynamotest.Faults
		db, err := dynamo.New(dynamo.Options{Table: table, Pipeline: "p", Client: dynamodb.New(dynamodb.Options{
			Region: "us-east-1", HTTPClient: faults.Client(noServer{}),
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
			}),
		})})
		if err != nil {
			t.Fatal(err)
		}
		list := func(ctx context.Context, l state.Listing) (last error) {
			for _, err := range db.ListContributions(ctx, state.Target{Pipeline: "p", Table: "t", View: "v"}, l) {
				last = err
			}
			return last
		}
		const throttles = 30
		throttled := 0
		l := state.Listing{Throttled: func(err error, wait time.Duration) {
			if throttled++; !errors.Is(err, dynamo.ErrThrottled) || wait < 0 {
				t.Errorf("told of %v, repeated in %v", err, wait)
			}
		}}
		faults.Next("Scan", append(slices.Repeat([]dynamotest.Fault{dynamotest.Throttle()}, throttles), denied)...)
		if err := list(t.Context(), l); !errors.Is(err, dynamo.ErrDenied) || throttled != throttles {
			t.Errorf("%v after %d throttled requests, want the answer after %d", err, throttled, throttles)
		}

		why := errors.New("the audit ends")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		faults.Next("Scan", slices.Repeat([]dynamotest.Fault{dynamotest.Throttle()}, 1000)...)
		if err := list(ctx, l); !errors.Is(err, why) {
			t.Errorf("%v, want %v", err, why)
		}
		if err := list(t.Context(), state.Listing{}); !errors.Is(err, dynamo.ErrThrottled) {
			t.Errorf("%v, want %v", err, dynamo.ErrThrottled)
		}
	})
}
