package e2e

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// A batch that Lambda abandoned is fetched from a real stream by its place, with its records and no others. The records
// of a missing shard are noted as a gap.
func TestRedriveFetchesFromTheStream(t *testing.T) {
	w := newWorld(t)
	w.createTable(t, "shop")
	for i := range 6 {
		if _, err := w.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("shop"), Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "a"}, "SK": &types.AttributeValueMemberS{Value: "b"},
			"n": &types.AttributeValueMemberN{Value: strconv.Itoa(i)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	api := sdk.New(w.streams, record.DecoderOptions{DynamoDBLocal: true})
	stream, shard, sequences := sequencesOf(t, api, "shop", 6)

	var delivered []string
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "sink", Sink: pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			delivered = append(delivered, d.Change.Sequence)
		}
		return nil
	})}}})
	if err != nil {
		t.Fatal(err)
	}
	var gaps []record.Gap
	h := handlers.OnFailure(p, handlers.WithStreams(api), handlers.WithGaps(pipeline.GapFunc(func(_ context.Context, g record.Gap) error {
		gaps = append(gaps, g)
		return nil
	})))
	for _, in := range []string{shard, "shardId-00000000000000000000-00000000"} {
		body := fmt.Sprintf(`{"version":"1.0","DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,"batchSize":4,"streamArn":%q}}`,
			in, sequences[1], sequences[4], stream)
		event := fmt.Sprintf(`{"Records":[{"messageId":"m1","body":%q,"eventSource":"aws:sqs"}]}`, body)
		answer, err := h.Invoke(t.Context(), []byte(event))
		if err != nil || string(answer) != `{"batchItemFailures":[]}` {
			t.Errorf("%s, %v", answer, err)
		}
	}
	if !slices.Equal(delivered, sequences[1:5]) {
		t.Errorf("delivered %v of %v", delivered, sequences)
	}
	if len(gaps) != 1 || gaps[0].After != beside(t, sequences[1], -1) || gaps[0].Before != beside(t, sequences[4], 1) {
		t.Errorf("of a shard that is not there, what is lost is %+v", gaps)
	}
}

// beside returns a sequence number plus by.
func beside(t *testing.T, sequence string, by int64) string {
	t.Helper()
	n, ok := new(big.Int).SetString(sequence, 10)
	if !ok {
		t.Fatalf("%q is not a number", sequence)
	}
	return n.Add(n, big.NewInt(by)).String()
}

// sequencesOf returns the sequence numbers of a table's changes, which are all in one shard.
func sequencesOf(t *testing.T, api shardreader.API, table string, n int) (stream, shard string, sequences []string) {
	t.Helper()
	ref, err := shardreader.FindStream(t.Context(), api, table)
	if err != nil {
		t.Fatal(err)
	}
	d, err := shardreader.ListShards(t.Context(), api, ref.ARN)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Shards {
		it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: ref.ARN, Shard: s.ID, Type: shardreader.TrimHorizon})
		if err != nil {
			t.Fatal(err)
		}
		a, err := api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: ref.ARN, Shard: s.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Page.Changes {
			shard, sequences = s.ID, append(sequences, c.Sequence)
		}
	}
	if len(sequences) != n {
		t.Fatalf("the stream has %d records, not %d", len(sequences), n)
	}
	return ref.ARN, shard, sequences
}
