package lambda

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/esm"
)

// broken is an environment that fails each event, as in an outage of the function.
type broken struct{}

func (broken) Invoke(context.Context, []byte) ([]byte, error) {
	return nil, fmt.Errorf("no environment")
}

// gaveUp returns the batches of these records that a mapping with a limit of retries discards in an outage.
func gaveUp(t *testing.T, shard string, records ...[]byte) []esm.Discarded {
	t.Helper()
	var given []esm.Discarded
	m := esm.Mapping{Functions: []esm.Function{broken{}}, BatchSize: 2, MaxRetries: 1, Discard: func(_ context.Context, d esm.Discarded) error {
		given = append(given, d)
		return nil
	}}
	r, err := m.Run(t.Context(), esm.Shard{ID: shard, Records: records})
	if err != nil || r.Discarded != len(records) {
		t.Fatalf("%+v, %v", r, err)
	}
	return given
}

// Fact 18: Lambda wrote an abandoned event into the bucket. A notification of the object brings the records to the
// function. Changes that came meanwhile stay.
func TestFact18_WhatLambdaGaveUpComesBackFromTheBucket(t *testing.T) {
	t.Parallel()
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{})
	given := gaveUp(t, "shardId-1", product(1, "a"), order(2, "b"), product(3, "c"))
	var messages [][]byte
	for _, d := range given {
		if _, err := s3.NewFromConfig(f.SDK).PutObject(t.Context(), &s3.PutObjectInput{Bucket: &f.Bucket, Key: &d.Key, Body: bytes.NewReader(d.Object)}); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, fmt.Appendf(nil, `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":%q},"object":{"key":%q}}}]}`, f.Bucket, d.Key))
	}
	later := world.RecordAt(time.Now(), 9, "MODIFY", "a", `"Type":{"S":"Product"},"n":{"N":"1"}`, `"Type":{"S":"Order"},"n":{"N":"9"}`)
	f.answers(t, event(later), succeeded) // the abandoned records must not overwrite this change
	absent := fmt.Appendf(nil, `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":%q},"object":{"key":"aws/lambda/gone"}}}]}`, f.Bucket)
	f.answers(t, queued(t, messages[0], absent, messages[1]), `{"batchItemFailures":[{"itemIdentifier":"m2"}]}`)
	f.holds(t, "a b c", "c", 4, 0)
	if got := f.rowOf(t, "a"); !strings.Contains(got, `"n": N 9`) {
		t.Errorf("the row of a is %s", got)
	}
}

// Fact 18: a queue has only the place of abandoned records. The function fetches the records from the stream.
func TestFact18_WhatLambdaGaveUpIsFetchedFromTheStream(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	table := w.Pipeline + "-source"
	arn, shard := source(t, w, table)
	text := strings.Replace(items, "{table: shop}", "{table: "+table+", emulator: dynamodb-local}", 1)
	f := deploy(t, w, text, deployment{env: []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + w.To.DynamoDB}})
	sequences := streamed(t, w, arn, shard)
	f.answers(t, queued(t, place(arn, shard, sequences[1], sequences[2], 2)), succeeded)
	f.holds(t, "b c", "b c", 2, 0)
	if gaps := f.gaps(t); len(gaps) != 0 {
		t.Errorf("gaps: %v", gaps)
	}
}

// place returns Lambda's message about an abandoned batch, as a queue has it.
func place(arn, shard, first, last string, n int) []byte {
	return fmt.Appendf(nil, `{"requestContext":{"condition":"RetryAttemptsExhausted"},"version":"1.0","DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,`+
		`"approximateArrivalOfFirstRecord":"2026-03-01T12:00:00Z","approximateArrivalOfLastRecord":"2026-03-01T12:00:09Z","batchSize":%d,"streamArn":%q}}`, shard, first, last, n, arn)
}

// Records that the stream no longer has are noted as a gap with exact bounds. The other records are delivered.
func TestFact18_WhatTheStreamHasNoMoreIsNoted(t *testing.T) {
	t.Parallel()
	stream := streamtest.New(streamtest.Options{})
	endpoint := httptest.NewServer(stream)
	t.Cleanup(endpoint.Close)
	table := stream.Table("shop", "PK")
	of := stream.Enable("shop", streamtest.StreamOptions{Shards: 1})
	var written []streamtest.Written
	for _, pk := range []string{"a", "b", "c", "d", "e"} {
		w, err := table.Put(fmt.Sprintf(`{"PK":{"S":%q},"Type":{"S":"Product"},"n":{"N":"1"}}`, pk))
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, w)
	}
	shard := written[0].Shard
	of.Trim(shard, 3)
	f := deploy(t, world.New(t, world.Running(t)), items, deployment{env: []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + endpoint.URL}})
	f.answers(t, queued(t, place(of.ARN(), shard, written[0].Sequence, written[3].Sequence, 4)), succeeded)
	f.holds(t, "d", "d", 1, 0)
	gaps := f.gaps(t)
	if len(gaps) != 1 || gaps[0].StreamARN != of.ARN() || gaps[0].Shard != shard ||
		record.CompareSequence(gaps[0].After, written[0].Sequence) >= 0 || record.CompareSequence(gaps[0].Before, written[2].Sequence) <= 0 || record.CompareSequence(gaps[0].Before, written[3].Sequence) > 0 {
		t.Errorf("gaps: %+v", gaps)
	}
	if !strings.Contains(f.Log(), "records are lost") {
		t.Error("the log says nothing of the loss")
	}
}

// source makes a table with a stream, and writes the products a, b, c and d.
func source(t *testing.T, w *world.World, table string) (arn, shard string) {
	t.Helper()
	arn, shard = createTable(t, w, table, "PK")
	tables := dynamodb.NewFromConfig(w.SDK)
	for i, pk := range []string{"a", "b", "c", "d"} {
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: pk}, "Type": &types.AttributeValueMemberS{Value: "Product"}, "n": &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return arn, shard
}

// createTable makes a table with a stream, and returns the ARN of the stream and its only shard. The first of the keys
// is the partition key.
func createTable(t *testing.T, w *world.World, table string, keys ...string) (arn, shard string) {
	t.Helper()
	tables, yes := dynamodb.NewFromConfig(w.SDK), true
	in := &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: &yes, StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
	for i, name := range keys {
		kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
		attribute := types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
		in.AttributeDefinitions = append(in.AttributeDefinitions, attribute)
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &name, KeyType: kind})
	}
	made, err := tables.CreateTable(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = tables.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &table})
	})
	arn = *made.TableDescription.LatestStreamArn
	d, err := streams(w).DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil || len(d.StreamDescription.Shards) != 1 {
		t.Fatalf("the stream's shards: %v, %v", d, err)
	}
	return arn, *d.StreamDescription.Shards[0].ShardId
}

// streams returns a client that repeats a call that has no answer within [readLimit]. On a busy machine, DynamoDB Local
// sometimes does not answer a call while the table is written.
func streams(w *world.World) *dynamodbstreams.Client {
	limited := *w.SDK.HTTPClient.(*http.Client)
	limited.Timeout = readLimit
	return dynamodbstreams.NewFromConfig(w.SDK, func(o *dynamodbstreams.Options) {
		o.BaseEndpoint, o.HTTPClient = &w.To.DynamoDB, &limited
	})
}

// streamed returns the sequence numbers of the four records of the shard.
func streamed(t *testing.T, w *world.World, arn, shard string) (sequences []string) {
	t.Helper()
	it, err := streams(w).GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
	if err != nil {
		t.Fatal(err)
	}
	for at, end := it.ShardIterator, time.Now().Add(30*time.Second); len(sequences) < 4; {
		got, err := streams(w).GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: at})
		if err != nil || time.Now().After(end) {
			t.Fatalf("%d records came: %v", len(sequences), err)
		}
		for _, r := range got.Records {
			sequences = append(sequences, *r.Dynamodb.SequenceNumber)
		}
		at = got.NextShardIterator
	}
	return sequences
}

// gaps returns the gaps that were noted.
func (f *function) gaps(t *testing.T) (all []record.Gap) {
	t.Helper()
	stores := aws.Stores(f.SDK)
	defer stores.Close()
	kept, err := stores.State(t.Context(), f.Config(t, world.Fixture, f.text, f.To))
	if err != nil {
		t.Fatal(err)
	}
	for g, err := range kept.Gaps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g.Gap)
	}
	return all
}
