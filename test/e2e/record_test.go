package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// everyType returns an item with every type of attribute, including an empty map.
func everyType(n int) map[string]types.AttributeValue {
	s := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	return map[string]types.AttributeValue{
		"PK":     s(fmt.Sprintf("item#%03d", n)),
		"SK":     s("v"),
		"Text":   s("ä \"quoted\" \u2028 line"),
		"Empty":  s(""),
		"Number": &types.AttributeValueMemberN{Value: fmt.Sprintf("12345678901234567890123456789.012345%03d", n+1)},
		"Bytes":  &types.AttributeValueMemberB{Value: []byte{0, 1, 255, byte(n)}},
		"Yes":    &types.AttributeValueMemberBOOL{Value: true},
		"Null":   &types.AttributeValueMemberNULL{Value: true},
		"SS":     &types.AttributeValueMemberSS{Value: []string{"b", "a"}},
		"NS":     &types.AttributeValueMemberNS{Value: []string{"2", "-1.5"}},
		"BS":     &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"Map":    &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"x": s("y")}},
		"NoMap":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		"List":   &types.AttributeValueMemberL{Value: []types.AttributeValue{s("a"), &types.AttributeValueMemberN{Value: "1"}}},
	}
}

// Recorded changes are replayed as they were written, in their order. If a table has several streams, the newest is
// recorded.
func TestRecordThenReplay(t *testing.T) {
	w := newWorld(t)
	w.createTable(t, "shop")
	put := func(item map[string]types.AttributeValue) {
		t.Helper()
		if _, err := w.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("shop"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	put(everyType(999)) // into the stream that is switched off
	w.switchStream(t, "shop", false)
	w.switchStream(t, "shop", true)

	type step struct {
		Op, Key  string
		Old, New item.Image
	}
	var want []step
	image := func(item map[string]types.AttributeValue) item.Image {
		m, err := sdkvalue.Image(item)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var none item.Image
	const items = 30
	for n := range items {
		item := everyType(n)
		put(item)
		before := image(item)
		key := "item%23" + fmt.Sprintf("%03d", n) + ",v"
		want = append(want, step{"INSERT", key, none, before})
		item["Text"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", n*100)}
		put(item)
		put(item) // makes no record
		want = append(want, step{"MODIFY", key, before, image(item)})
		if n%3 == 0 {
			if _, err := w.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new("shop"), Key: map[string]types.AttributeValue{"PK": item["PK"], "SK": item["SK"]}}); err != nil {
				t.Fatal(err)
			}
			want = append(want, step{"REMOVE", key, image(item), none})
		}
	}

	local := record.DecoderOptions{DynamoDBLocal: true}
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	r, err := shardreader.RecordFile(t.Context(), path, shardreader.RecordOptions{API: sdk.New(w.streams, local), Source: "shop", EmptyPages: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Records != int64(len(want)) || r.Undecodable != 0 || len(r.Gaps) != 0 || r.Stream.Table != "shop" || r.EmptyMaps == 0 {
		t.Errorf("recording %+v, want %d records", r, len(want))
	}

	source, err := replay.Open(replay.Options{Paths: []string{path}, Decoder: local})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var got []step
	var last record.Version
	for {
		read, err := source.Read(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		page, err := read.Decode()
		if err != nil || len(page.Errors) > 0 {
			t.Fatal(err, page.Errors)
		}
		for _, c := range page.Changes {
			got = append(got, step{c.Op.String(), string(c.Key), c.Old, c.New})
			if c.Version.Compare(last) <= 0 || c.StreamARN != r.Stream.ARN || c.Table != "shop" {
				t.Errorf("change %s of %s has version %s behind %s", c.EventID, c.StreamARN, c.Version, last)
			}
			last = c.Version
		}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameImage)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func sameImage(a, b item.Image) bool { return a.Exists() == b.Exists() && a.Equal(b) }

// A second recording has the same bytes as the first.
func TestRecordTwice(t *testing.T) {
	w := newWorld(t)
	w.createTable(t, "shop")
	for n := range 5 {
		if _, err := w.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("shop"), Item: everyType(n)}); err != nil {
			t.Fatal(err)
		}
	}
	o := shardreader.RecordOptions{API: sdk.New(w.streams, record.DecoderOptions{DynamoDBLocal: true}), Source: "shop", EmptyPages: 2}
	var first, second bytes.Buffer
	if _, err := shardreader.Record(t.Context(), &first, o); err != nil {
		t.Fatal(err)
	}
	if _, err := shardreader.Record(t.Context(), &second, o); err != nil {
		t.Fatal(err)
	}
	if first.Len() == 0 || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("first:\n%s\nsecond:\n%s", &first, &second)
	}
}

// A missing table and a missing shard both cause ErrNotFound.
func TestRecordFails(t *testing.T) {
	w := newWorld(t)
	api := sdk.New(w.streams, record.DecoderOptions{})
	if _, err := shardreader.Record(t.Context(), io.Discard, shardreader.RecordOptions{API: api, Source: "nothing"}); !errors.Is(err, shardreader.ErrNotFound) {
		t.Errorf("a table that is not there: %v", err)
	}
	w.createTable(t, "shop")
	ref, err := shardreader.FindStream(t.Context(), api, "shop")
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: ref.ARN, Shard: "shardId-00000000000000000000-00000000", Type: shardreader.TrimHorizon})
	if !errors.Is(err, shardreader.ErrNotFound) {
		t.Errorf("a shard that is not there: %v", err)
	}
}
