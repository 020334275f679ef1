package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/server"
)

// world is a source table on DynamoDB Local. Only one goroutine writes to the table.
type world struct {
	endpoint string
	name     string // access key, and start of the tables' names
	stream   string // ARN
	client   *dynamodb.Client
	written  int
}

func newWorld(ctx context.Context) (*world, error) {
	kind := server.DynamoDB()
	endpoint := os.Getenv(kind.Env)
	if endpoint == "" {
		return nil, errors.New(kind.Env + " is not set: run  go run ./test/servers -only dynamodb -- go run ./test/latency")
	}
	key := "latency" + strings.ToLower(rand.Text()[:10]) // each world has its own key
	w := &world{endpoint: endpoint, name: key}
	w.client = dynamodb.New(dynamodb.Options{Region: server.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(key, "secret", "")})
	out, err := w.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(w.name + "-source"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err == nil {
		w.stream = aws.ToString(out.TableDescription.LatestStreamArn)
	}
	return w, err
}

// close deletes the tables.
func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tables, err := w.client.ListTables(ctx, nil)
	if err != nil {
		return // the tables are lost with the server
	}
	for _, table := range tables.TableNames {
		_, _ = w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
	}
}

// write is the PK of a new item.
type write string

// put writes a new item.
func (w *world) put(ctx context.Context) (write, error) {
	w.written++
	pk := fmt.Sprintf("item%06d", w.written)
	_, err := w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(w.name + "-source"), Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: "x"}, "At": &types.AttributeValueMemberN{Value: fmt.Sprint(w.written)},
	}})
	return write(pk), err
}
