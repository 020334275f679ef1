package e2e

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// world is a DynamoDB Local for one test. Without -sharedDb, each access key has its own tables.
type world struct {
	tables  *dynamodb.Client
	streams *dynamodbstreams.Client
}

func newWorld(t *testing.T) world {
	endpoint := os.Getenv("TABLEWAKE_TEST_DYNAMODB")
	if endpoint == "" {
		t.Fatal("TABLEWAKE_TEST_DYNAMODB is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	key := credentials.NewStaticCredentialsProvider("test"+rand.Text(), "secret", "")
	return world{
		tables:  dynamodb.New(dynamodb.Options{Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: key}),
		streams: dynamodbstreams.New(dynamodbstreams.Options{Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: key}),
	}
}

// createTable makes a table with keys PK and SK, both S, and a stream of both images.
func (w world) createTable(t *testing.T, name string) {
	t.Helper()
	_, err := w.tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: stream(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, name)
}

func stream(on bool) *types.StreamSpecification {
	s := &types.StreamSpecification{StreamEnabled: &on}
	if on {
		s.StreamViewType = types.StreamViewTypeNewAndOldImages
	}
	return s
}

// await waits until a table is active.
func (w world) await(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := dynamodb.NewTableExistsWaiter(w.tables, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 50 * time.Millisecond }).
		Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
}

// switchStream turns a table's stream on or off.
func (w world) switchStream(t *testing.T, name string, on bool) {
	t.Helper()
	_, err := w.tables.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &name, StreamSpecification: stream(on)})
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, name)
}
