package streamtest_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// service is a table with the key attribute PK, a text, with its streams.
type service interface {
	client() *dynamodbstreams.Client
	table() string
	put(t *testing.T, item string)
	elsewhere(t *testing.T) // a write to another table
	remove(t *testing.T, key string)
	enable(t *testing.T, view record.ViewType)
	disable(t *testing.T)
	aged(iterator string, d time.Duration) string // as if it had been made before
}

func api(s service) shardreader.API { return sdk.New(s.client(), record.DecoderOptions{}) }

// world is the access key of the process: DynamoDB Local keeps some 30 threads for each.
var world = "streamtest" + rand.Text()[:10]

// onBoth runs a test on a new table of each service, its stream enabled with both images.
func onBoth(t *testing.T, run func(t *testing.T, s service)) {
	t.Run("streamtest", func(t *testing.T) {
		server := streamtest.New(streamtest.Options{ChildFilter: streamtest.FilterEmpty, RefuseBelow: true, NoTimestamps: true})
		s := &inMemory{server: server, items: server.Table("shop", "PK")}
		s.enable(t, record.NewAndOldImages)
		run(t, s)
	})
	t.Run("DynamoDB Local", func(t *testing.T) {
		endpoint := os.Getenv("TABLEWAKE_TEST_DYNAMODB")
		if endpoint == "" {
			t.Fatal("TABLEWAKE_TEST_DYNAMODB is not set: run the tests by  go run ./test/servers -- go test ./...")
		}
		run(t, newLocal(t, endpoint))
	})
}

// inMemory is a Server behind the SDK.
type inMemory struct {
	server *streamtest.Server
	items  *streamtest.Table
}

func (s *inMemory) client() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region:           "eu-central-1",
		Credentials:      credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:       &http.Client{Transport: s.server},
		RetryMaxAttempts: 1,
	})
}

func (s *inMemory) table() string { return s.items.Name() }

func (s *inMemory) put(t *testing.T, item string) {
	t.Helper()
	if _, err := s.items.Put(item); err != nil {
		t.Fatal(err)
	}
}

// elsewhere does nothing: the numbers of a shard's records are always above its starting number.
func (s *inMemory) elsewhere(*testing.T) {}

func (s *inMemory) remove(t *testing.T, key string) {
	t.Helper()
	if _, err := s.items.Delete(key); err != nil {
		t.Fatal(err)
	}
}

func (s *inMemory) enable(_ *testing.T, view record.ViewType) {
	s.server.Enable(s.table(), streamtest.StreamOptions{View: view})
}

func (s *inMemory) disable(*testing.T) { s.items.Stream().Disable() }

func (s *inMemory) aged(iterator string, d time.Duration) string {
	i := strings.LastIndex(iterator, "|") + 1
	made, err := strconv.ParseInt(iterator[i:], 10, 64)
	if err != nil {
		panic(err)
	}
	return iterator[:i] + strconv.FormatInt(made-int64(d), 10)
}

// local is DynamoDB Local. Known differences, beside what the tests say: sequence
// numbers start at 1, the Region is ddblocal, event ids have dashes, creation times are
// cut to the minute, a stream has one shard ever, and an empty map comes as {}.
type local struct {
	tables  *dynamodb.Client
	streams *dynamodbstreams.Client
	name    string
	other   string // another table, once one was written
}

func newLocal(t *testing.T, endpoint string) *local {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	key := credentials.NewStaticCredentialsProvider(world, "secret", "")
	s := &local{
		name:    "shop-" + rand.Text()[:10],
		tables:  dynamodb.New(dynamodb.Options{Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: key, HTTPClient: &http.Client{Transport: transport}}),
		streams: dynamodbstreams.New(dynamodbstreams.Options{Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: key, HTTPClient: &http.Client{Transport: transport}, RetryMaxAttempts: 1}),
	}
	s.create(t, s.name)
	return s
}

// create makes a table with a stream.
func (s *local) create(t *testing.T, name string) {
	t.Helper()
	_, err := s.tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.tables.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
}

func (s *local) client() *dynamodbstreams.Client { return s.streams }

func (s *local) table() string { return s.name }

func (s *local) put(t *testing.T, item string) {
	t.Helper()
	s.putInto(t, s.name, item)
}

func (s *local) putInto(t *testing.T, table, item string) {
	t.Helper()
	if _, err := s.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: attributes(t, item)}); err != nil {
		t.Fatal(err)
	}
}

// elsewhere writes to another table: all tables share one row of sequence numbers.
func (s *local) elsewhere(t *testing.T) {
	t.Helper()
	if s.other == "" {
		s.other = s.name + "-other"
		s.create(t, s.other)
	}
	s.putInto(t, s.other, fmt.Sprintf(`{"PK":{"S":"%s"}}`, rand.Text()))
}

func (s *local) remove(t *testing.T, key string) {
	t.Helper()
	if _, err := s.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &s.name, Key: attributes(t, key)}); err != nil {
		t.Fatal(err)
	}
}

func (s *local) enable(t *testing.T, view record.ViewType) {
	s.update(t, &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(view.String())})
}

func (s *local) disable(t *testing.T) {
	s.update(t, &types.StreamSpecification{StreamEnabled: aws.Bool(false)})
}

func (s *local) update(t *testing.T, spec *types.StreamSpecification) {
	t.Helper()
	if _, err := s.tables.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &s.name, StreamSpecification: spec}); err != nil {
		t.Fatal(err)
	}
}

// aged changes the iterator, which is arn|001|base64(shard|sequence number|milliseconds).
func (s *local) aged(iterator string, d time.Duration) string {
	i := strings.LastIndex(iterator, "|") + 1
	inner, err := base64.StdEncoding.DecodeString(iterator[i:])
	if err != nil {
		panic(err)
	}
	f := strings.Split(string(inner), "|")
	made, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		panic(err)
	}
	f[2] = fmt.Sprintf("%030d", made-d.Milliseconds())
	return iterator[:i] + base64.StdEncoding.EncodeToString([]byte(strings.Join(f, "|")))
}

// attributes are those of an item, which has texts, numbers and maps of them.
func attributes(t *testing.T, item string) map[string]types.AttributeValue {
	t.Helper()
	var values map[string]struct {
		S, N *string
		M    json.RawMessage
	}
	if err := json.Unmarshal([]byte(item), &values); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]types.AttributeValue)
	for name, v := range values {
		switch {
		case v.S != nil:
			out[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			out[name] = &types.AttributeValueMemberN{Value: *v.N}
		default:
			out[name] = &types.AttributeValueMemberM{Value: attributes(t, string(v.M))}
		}
	}
	return out
}
