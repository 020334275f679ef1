package cost_test

import (
	"context"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
)

// service gives the same answer to every request and keeps the last request.
type service struct {
	status int
	body   string
	asked  string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.asked = string(b)
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.body)
}

// call makes a call that gets the given answer. It returns the metrics of the call, by service and unit, or by service,
// operation and outcome.
func call(t *testing.T, answer *service, do func(context.Context, aws.Config) error) map[string]float64 {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	reader := sdkmetric.NewManualReader()
	m, err := cost.Middleware("shop", sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	sdk := aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1, HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		APIOptions:  []func(*middleware.Stack) error{m},
	}
	if err := do(t.Context(), sdk); (err != nil) != (answer.status >= 400) {
		t.Fatalf("answered %d: %v", answer.status, err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					got[m.Name+" "+p.Attributes.Encoded(attributeOrder{})] = float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					got[m.Name+" "+p.Attributes.Encoded(attributeOrder{})] = p.Value
				}
			}
		}
	}
	return got
}

func client[C, O any](make func(aws.Config, ...func(*O)) C, do func(context.Context, C) error) func(context.Context, aws.Config) error {
	return func(ctx context.Context, sdk aws.Config) error { return do(ctx, make(sdk)) }
}

func key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "x"}}
}

var table = aws.String("shop-views")

// Each kind of call is counted in the units in which it is billed, at their prices. Calls of DynamoDB ask for the
// consumed capacity.
func TestMiddleware(t *testing.T) {
	large := aws.String(strings.Repeat("x", 64<<10+1))
	small := aws.String("x")
	for name, test := range map[string]struct {
		answer  service
		do      func(context.Context, aws.Config) error
		request string // service,operation,outcome
		unit    string // service,unit
		n       float64
	}{
		"get": {service{200, `{"ConsumedCapacity":{"TableName":"shop-views","CapacityUnits":0.5}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			in := &dynamodb.GetItemInput{TableName: table, Key: key()}
			_, err := c.GetItem(ctx, in)
			if in.ReturnConsumedCapacity != "" {
				t.Error("the caller's input is changed")
			}
			return err
		}), "dynamodb,GetItem,ok", "dynamodb,read", 0.5},
		"query": {service{200, `{"ConsumedCapacity":{"CapacityUnits":3}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.Query(ctx, &dynamodb.QueryInput{TableName: table})
			return err
		}), "dynamodb,Query,ok", "dynamodb,read", 3},
		"scan": {service{200, `{"ConsumedCapacity":{"CapacityUnits":128.5}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.Scan(ctx, &dynamodb.ScanInput{TableName: table})
			return err
		}), "dynamodb,Scan,ok", "dynamodb,read", 128.5},
		"batch get": {service{200, `{"ConsumedCapacity":[{"CapacityUnits":3},{"CapacityUnits":4}]}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"shop-views": {Keys: []map[string]types.AttributeValue{key()}}}})
			return err
		}), "dynamodb,BatchGetItem,ok", "dynamodb,read", 7},
		"transact get": {service{200, `{"ConsumedCapacity":[{"CapacityUnits":2}]}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: table, Key: key()}}}})
			return err
		}), "dynamodb,TransactGetItems,ok", "dynamodb,read", 2},
		"put": {service{200, `{"ConsumedCapacity":{"CapacityUnits":2}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key()})
			return err
		}), "dynamodb,PutItem,ok", "dynamodb,write", 2},
		"update": {service{200, `{"ConsumedCapacity":{"CapacityUnits":2}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key()})
			return err
		}), "dynamodb,UpdateItem,ok", "dynamodb,write", 2},
		"delete": {service{200, `{"ConsumedCapacity":{"CapacityUnits":1}}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key()})
			return err
		}), "dynamodb,DeleteItem,ok", "dynamodb,write", 1},
		"batch write": {service{200, `{"ConsumedCapacity":[{"CapacityUnits":5}]}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"shop-views": {{PutRequest: &types.PutRequest{Item: key()}}}}})
			return err
		}), "dynamodb,BatchWriteItem,ok", "dynamodb,write", 5},
		"transaction": {service{200, `{"ConsumedCapacity":[{"CapacityUnits":4},{"CapacityUnits":2}]}`, ""}, client(dynamodb.NewFromConfig, transact),
			"dynamodb,TransactWriteItems,ok", "dynamodb,write", 6},
		"a condition that does not hold": {service{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"x"}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key()})
			return err
		}), "dynamodb,PutItem,ConditionalCheckFailedException", "dynamodb,write", 1},
		"a transaction that is cancelled": {service{400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x"}`, ""}, client(dynamodb.NewFromConfig, transact),
			"dynamodb,TransactWriteItems,TransactionCanceledException", "dynamodb,write", 4},
		"throttled": {service{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"x"}`, ""}, client(dynamodb.NewFromConfig, transact),
			"dynamodb,TransactWriteItems,ThrottlingException", "", 0},
		"no code": {service{400, `{"__type":"com.amazonaws#what is this?","message":"x"}`, ""}, client(dynamodb.NewFromConfig, transact),
			"dynamodb,TransactWriteItems,error", "", 0},
		"describe": {service{200, `{}`, ""}, client(dynamodb.NewFromConfig, func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table})
			return err
		}), "dynamodb,DescribeTable,ok", "", 0},
		"records": {service{200, `{}`, ""}, client(dynamodbstreams.NewFromConfig, func(ctx context.Context, c *dynamodbstreams.Client) error {
			_, err := c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: small})
			return err
		}), "dynamodbstreams,GetRecords,ok", "dynamodbstreams,read", 1},
		"a stream": {service{200, `{}`, ""}, client(dynamodbstreams.NewFromConfig, func(ctx context.Context, c *dynamodbstreams.Client) error {
			_, err := c.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{})
			return err
		}), "dynamodbstreams,ListStreams,ok", "", 0},
		"object": {service{200, ``, ""}, client(s3.NewFromConfig, object("")), "s3,PutObject,ok", "s3,put", 1},
		"object of GLACIER": {service{200, ``, ""}, client(s3.NewFromConfig, object(s3types.StorageClassGlacier)),
			"s3,PutObject,ok", "s3,put_glacier", 1},
		"object of STANDARD_IA": {service{200, ``, ""}, client(s3.NewFromConfig, object(s3types.StorageClassStandardIa)),
			"s3,PutObject,ok", "s3,put_infrequent", 1},
		"object of GLACIER_IR": {service{200, ``, ""}, client(s3.NewFromConfig, object(s3types.StorageClassGlacierIr)),
			"s3,PutObject,ok", "s3,put_glacier_ir", 1},
		"object of DEEP_ARCHIVE": {service{200, ``, ""}, client(s3.NewFromConfig, object(s3types.StorageClassDeepArchive)),
			"s3,PutObject,ok", "s3,put_deep_archive", 1},
		"head": {service{200, ``, ""}, client(s3.NewFromConfig, func(ctx context.Context, c *s3.Client) error {
			_, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: small, Key: small})
			return err
		}), "s3,HeadObject,ok", "s3,get", 1},
		"list": {service{200, `<ListBucketResult/>`, ""}, client(s3.NewFromConfig, func(ctx context.Context, c *s3.Client) error {
			_, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: small})
			return err
		}), "s3,ListObjectsV2,ok", "s3,put", 1},
		"remove": {service{204, ``, ""}, client(s3.NewFromConfig, func(ctx context.Context, c *s3.Client) error {
			_, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: small, Key: small})
			return err
		}), "s3,DeleteObject,ok", "", 0},
		"messages": {service{200, `{}`, ""}, client(sqs.NewFromConfig, func(ctx context.Context, c *sqs.Client) error {
			_, err := c.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: small, Entries: []sqstypes.SendMessageBatchRequestEntry{{Id: small, MessageBody: small}, {Id: large, MessageBody: large}}})
			return err
		}), "sqs,SendMessageBatch,ok", "sqs,request", 2},
		"fifo": {service{200, `{}`, ""}, client(sqs.NewFromConfig, func(ctx context.Context, c *sqs.Client) error {
			_, err := c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: aws.String("x.fifo"), ReceiptHandle: small})
			return err
		}), "sqs,DeleteMessage,ok", "sqs,fifo_request", 1},
		"publish": {service{200, `<PublishBatchResponse><PublishBatchResult/></PublishBatchResponse>`, ""}, client(sns.NewFromConfig, func(ctx context.Context, c *sns.Client) error {
			_, err := c.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: small, PublishBatchRequestEntries: []snstypes.PublishBatchRequestEntry{{Id: small, Message: small}, {Id: large, Message: large}}})
			return err
		}), "sns,PublishBatch,ok", "sns,request", 2},
		"publish ten": {service{200, `<PublishBatchResponse><PublishBatchResult/></PublishBatchResponse>`, ""}, client(sns.NewFromConfig, func(ctx context.Context, c *sns.Client) error {
			in := &sns.PublishBatchInput{TopicArn: small}
			for i := range 10 {
				in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, snstypes.PublishBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), Message: small})
			}
			_, err := c.PublishBatch(ctx, in)
			return err
		}), "sns,PublishBatch,ok", "sns,request", 1},
		"publish one": {service{200, `<PublishResponse><PublishResult/></PublishResponse>`, ""}, client(sns.NewFromConfig, func(ctx context.Context, c *sns.Client) error {
			_, err := c.Publish(ctx, &sns.PublishInput{TopicArn: small, Message: large})
			return err
		}), "sns,Publish,ok", "sns,request", 2},
		"events": {service{200, `{}`, ""}, client(eventbridge.NewFromConfig, func(ctx context.Context, c *eventbridge.Client) error {
			_, err := c.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{Detail: large}, {Detail: small}}})
			return err
		}), "eventbridge,PutEvents,ok", "eventbridge,event", 3},
		"who am I": {service{200, `<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>`, ""}, client(sts.NewFromConfig, func(ctx context.Context, c *sts.Client) error {
			_, err := c.GetCallerIdentity(ctx, nil)
			return err
		}), "other,GetCallerIdentity,ok", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, &test.answer, test.do)
			want := map[string]float64{"tablewake.aws.requests shop," + test.request: 1}
			if test.unit != "" {
				service, unit, _ := strings.Cut(test.unit, ",")
				price := cost.PriceOf(service, unit)
				if price.Dollars <= 0 {
					t.Fatalf("%s has no price", test.unit)
				}
				want["tablewake.aws.units shop,"+test.unit] = test.n
				want["tablewake.aws.cost shop,"+service] = test.n * price.Dollars
			}
			if !maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
				t.Errorf("counted %v, want %v", got, want)
			}
			if strings.HasPrefix(test.unit, "dynamodb,") && !strings.Contains(test.answer.asked, `"ReturnConsumedCapacity":"TOTAL"`) {
				t.Errorf("the service is not asked what it took: %s", test.answer.asked)
			}
		})
	}
}

func transact(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: table, Item: key()}}, {Delete: &types.Delete{TableName: table, Key: key()}},
	}})
	return err
}

func object(class s3types.StorageClass) func(context.Context, *s3.Client) error {
	return func(ctx context.Context, c *s3.Client) error {
		_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("x"), StorageClass: class})
		return err
	}
}

// The table has a price, a description and a source for each unit, and no unit twice.
func TestPrices(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range cost.Prices() {
		name := p.Service + " " + p.Unit
		if seen[name] || p.Dollars <= 0 || p.Dollars > 1e-3 || p.Definition == "" || !strings.HasPrefix(p.Source, "https://aws.amazon.com/") {
			t.Errorf("%s: %+v", name, p)
		}
		seen[name] = true
	}
	if len(seen) != 13 {
		t.Errorf("units %v", slices.Sorted(maps.Keys(seen)))
	}
	if p := cost.PriceOf("s3", "nothing"); p != (cost.Price{}) {
		t.Errorf("a unit that is not in the table has a price: %+v", p)
	}
}
