package canary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// calls returns calls of every service, with the canary wherever an item can be.
func calls(sdk aws.Config) map[string]func(context.Context) error {
	c, table := aws.String(canary), aws.String("shop-views")
	item := map[string]types.AttributeValue{canary: &types.AttributeValueMemberS{Value: canary}}
	db, objects, queues := dynamodb.NewFromConfig(sdk), s3.NewFromConfig(sdk, func(o *s3.Options) { o.UsePathStyle = true }), sqs.NewFromConfig(sdk)
	topics, buses := sns.NewFromConfig(sdk), eventbridge.NewFromConfig(sdk)
	return map[string]func(context.Context) error{
		"GetItem": func(ctx context.Context) error {
			_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: item, ProjectionExpression: c})
			return err
		},
		"PutItem": func(ctx context.Context) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: item, ConditionExpression: c})
			return err
		},
		"UpdateItem": func(ctx context.Context) error {
			_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: item, UpdateExpression: c, ExpressionAttributeValues: item})
			return err
		},
		"DeleteItem": func(ctx context.Context) error {
			_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: item})
			return err
		},
		"Query": func(ctx context.Context) error {
			_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: c, ProjectionExpression: c, FilterExpression: c, ExpressionAttributeValues: item, ExclusiveStartKey: item})
			return err
		},
		"Scan": func(ctx context.Context) error {
			_, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: table, ProjectionExpression: c, FilterExpression: c, ExclusiveStartKey: item})
			return err
		},
		"BatchGetItem": func(ctx context.Context) error {
			_, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*table: {Keys: []map[string]types.AttributeValue{item}}}})
			return err
		},
		"BatchWriteItem": func(ctx context.Context) error {
			_, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*table: {{PutRequest: &types.PutRequest{Item: item}}}}})
			return err
		},
		"TransactWriteItems": func(ctx context.Context) error {
			_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: table, Item: item}}}})
			return err
		},
		"PutObject": func(ctx context.Context) error {
			_, err := objects.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("b"), Key: c, Body: strings.NewReader(canary)})
			return err
		},
		"GetObject": func(ctx context.Context) error {
			_, err := objects.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("b"), Key: c})
			return err
		},
		"DeleteObjects": func(ctx context.Context) error {
			_, err := objects.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String("b"), Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: c}}}})
			return err
		},
		"SendMessageBatch": func(ctx context.Context) error {
			_, err := queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: aws.String("q"), Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("e0"), MessageBody: c}}})
			return err
		},
		"PublishBatch": func(ctx context.Context) error {
			_, err := topics.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: aws.String("t"), PublishBatchRequestEntries: []snstypes.PublishBatchRequestEntry{{Id: aws.String("e0"), Message: c}}})
			return err
		},
		"PutEvents": func(ctx context.Context) error {
			_, err := buses.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{Detail: c}}})
			return err
		},
	}
}

// Spans and metrics of calls to AWS show nothing of an item. Each request consists of an item. The answers quote the
// item in a header, in the code and the text of an error, and in a body in JSON.
func TestNothingOfAnItemIsShown_CallsOfAWS(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	t.Setenv("OTEL_METRICS_EXPORTER", "console")
	var out bytes.Buffer
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Pipeline: "shop", Writer: &out})
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		quoted := fmt.Sprintf("%s is wrong in %s", canary, asked)
		w.Header().Set("X-Amz-Target", canary)
		w.WriteHeader(status)
		switch text, _ := json.Marshal(quoted); {
		case r.Header.Get("X-Amz-Target") != "": // an answer in JSON
			fmt.Fprintf(w, `{"__type":"com.amazonaws#%s is wrong","message":%s}`, canary, text)
		case status != http.StatusOK:
			fmt.Fprintf(w, `<ErrorResponse><Error><Code>%[1]s is wrong</Code><Message>%[1]s</Message></Error></ErrorResponse>`, canary)
		}
	}))
	defer server.Close()
	sdk := aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1, HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
	if err := tel.AWS(&sdk); err != nil {
		t.Fatal(err)
	}
	refused := 0
	ctx, span := tel.Tracer.Tracer("test").Start(t.Context(), "outer")
	for _, status = range []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound} {
		for _, call := range calls(sdk) {
			if err := call(ctx); err != nil {
				refused++
			}
		}
	}
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if line := shows(out.String()); line != "" {
		t.Errorf("what is exported shows an item: %s", line)
	}
	if want := 2 * len(calls(sdk)); refused < want {
		t.Errorf("%d calls failed, want %d at least", refused, want)
	}
	for name := range calls(sdk) {
		if n := strings.Count(out.String(), `.`+name+`"`); n != 3 {
			t.Errorf("%d spans of %s, want 3", n, name)
		}
	}
	for _, want := range []string{"tablewake.aws.requests", "tablewake.aws.cost", "shop-views", "aws.dynamodb.table_names", "error.type"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("what is exported does not say %s", want)
		}
	}
}
