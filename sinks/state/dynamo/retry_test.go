package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// The store waits a random time between attempts, but at least the Retry-After of the server.
func TestWaits(t *testing.T) {
	asks := func(r *dynamotest.Request) (*http.Response, error) {
		resp, err := dynamotest.Throttle()(r)
		resp.Header.Set("Retry-After", "3")
		return resp, err
	}
	met := dynamotest.Refuse(http.StatusBadRequest, "ConditionalCheckFailedException", "")
	for what, c := range map[string]struct {
		faults      []dynamotest.Fault
		least, most time.Duration
	}{
		"nothing fails":   {[]dynamotest.Fault{met}, 0, 0},
		"three throttles": {[]dynamotest.Fault{dynamotest.Throttle(), dynamotest.Throttle(), dynamotest.Throttle(), met}, 1, 350 * time.Millisecond},
		"the server asks": {[]dynamotest.Fault{asks, met}, 3 * time.Second, 3 * time.Second},
	} {
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
			faults.Next("PutItem", c.faults...)
			start := time.Now()
			err = db.Write(t.Context(), put("a", ""))
			if _, answered := errors.AsType[*dynamo.ConditionError](err); !answered {
				t.Fatalf("%s: %v", what, err)
			}
			if waited := time.Since(start); waited < c.least || waited > c.most {
				t.Errorf("%s: it waited %s, want between %s and %s", what, waited, c.least, c.most)
			}
		})
	}
}
