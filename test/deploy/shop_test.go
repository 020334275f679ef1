package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/test/server"
)

// shop has the table of the example, and the tables and buckets of the example's configuration.
type shop struct {
	client              *dynamodb.Client
	table, views, state string
	env                 []string
}

// newShop makes the table and the bucket. Their names are unique, because tests share the servers.
func newShop(t *testing.T) *shop {
	t.Helper()
	dynamo, store := server.DynamoDB().Endpoint(t), server.S3().Endpoint(t)
	name := "deploy-" + strings.ToLower(rand.Text()[:12])
	keys := credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")
	w := &shop{
		client: dynamodb.New(dynamodb.Options{Region: server.Region, BaseEndpoint: &dynamo, Credentials: keys}),
		table:  name, views: name + "-views", state: name + "-state",
		env: []string{
			"AWS_REGION=" + server.Region, "AWS_ACCESS_KEY_ID=" + server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + server.SecretKey,
			"AWS_ENDPOINT_URL_DYNAMODB=" + dynamo, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + dynamo, "AWS_ENDPOINT_URL_S3=" + store,
			"AWS_ENDPOINT_URL_STS=" + dynamo, "AWS_EC2_METADATA_DISABLED=true",
			"TABLEWAKE_NAME=" + name, "TABLEWAKE_TABLE=" + name, "TABLEWAKE_LEASES=" + name + "-leases", "TABLEWAKE_STATE=" + name + "-state",
			"TABLEWAKE_VIEWS=" + name + "-views", "TABLEWAKE_BUCKET=" + name, "TABLEWAKE_DEAD_LETTERS=" + name + "-dead",
		},
	}
	bucket := s3.New(s3.Options{Region: server.Region, BaseEndpoint: &store, Credentials: keys, UsePathStyle: true})
	for _, own := range []string{name, name + "-dead"} {
		if _, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &own}); err != nil {
			t.Fatal(err)
		}
	}
	in := tableOf(w.table, "PK", "SK")
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	_, err := w.client.CreateTable(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.forget(t) })
	return w
}

// tableOf returns the description of a table whose keys are texts.
func tableOf(name, partition, sort string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &partition, AttributeType: types.ScalarAttributeTypeS}, {AttributeName: &sort, AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange},
		},
	}
}

func (w *shop) forget(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, more := range []string{"", "-leases", "-state", "-views"} {
		_, err := w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(w.table + more)})
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
			t.Error(err)
		}
	}
}

// put writes an order.
func (w *shop) put(t *testing.T, order, status string) {
	t.Helper()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	_, err := w.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &w.table, Item: map[string]types.AttributeValue{
		"PK": text("USER#1"), "SK": text(order), "Type": text("Order"), "Status": text(status), "Currency": text("EUR"),
		"CreatedAt": text("2026-03-02T08:00:00Z"), "Total": &types.AttributeValueMemberN{Value: "10.50"},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// row reports whether the view has a row with this partition key.
func (w *shop) row(t *testing.T, pk string) bool {
	t.Helper()
	out, err := w.client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &w.views, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("PK = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Items) > 0
}
