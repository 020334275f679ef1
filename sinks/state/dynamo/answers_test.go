package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/test/faults"
)

// An answer counts as a success only if it contains the JSON of the service. An error is permanent only if it has a
// code of the service. All other answers are retried.
func TestAnswersThatAreNotTheServices(t *testing.T) {
	key := dynamo.Item{"pk": dynamo.S("a"), "sk": dynamo.S("b")}
	table := aws.String("state")
	calls := map[string]func(*dynamo.DB) error{
		"PutItem": func(db *dynamo.DB) error {
			return db.Write(t.Context(), dynamo.Action{Put: &types.Put{TableName: table, Item: key}})
		},
		"DeleteItem": func(db *dynamo.DB) error {
			return db.Write(t.Context(), dynamo.Action{Delete: &types.Delete{TableName: table, Key: key}})
		},
		"UpdateItem": func(db *dynamo.DB) error {
			return db.Write(t.Context(), dynamo.Action{Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("REMOVE a")}})
		},
		"Query": func(db *dynamo.DB) error {
			for _, err := range db.Query(t.Context(), &dynamodb.QueryInput{TableName: table}) {
				return err
			}
			return nil
		},
	}
	for op, call := range calls {
		for _, a := range faults.Answers() {
			if a.Done && op != "Query" {
				continue // the service answers a write like this
			}
			t.Run(op+" "+a.Name, func(t *testing.T) {
				db, err := dynamo.New(dynamo.Options{Table: "state", Pipeline: "p", Attempts: 1, Client: dynamodb.New(dynamodb.Options{
					Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: a,
				})})
				if err != nil {
					t.Fatal(err)
				}
				err = call(db)
				if _, again := pipeline.Retryable(err); !again || strings.Contains(err.Error(), "hello") {
					t.Errorf("%s is answered %s: %v", op, a.Name, err)
				}
			})
		}
	}
}
