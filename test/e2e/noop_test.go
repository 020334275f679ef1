package e2e

import (
	"bytes"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
)

// Fact 3: a no-op write makes no record.
func TestFact3_NoOpWritesMakeNoRecord(t *testing.T) {
	w := newWorld(t)
	w.createTable(t, "shop")
	item := everyType(1)
	key := map[string]types.AttributeValue{"PK": item["PK"], "SK": item["SK"]}
	for range 3 {
		if _, err := w.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new("shop"), Item: item}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: new("shop"), Key: key, UpdateExpression: new("SET #t = :t"),
			ExpressionAttributeNames:  map[string]string{"#t": "Number"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":t": item["Number"]},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second deletes nothing
		if _, err := w.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new("shop"), Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	r, err := shardreader.Record(t.Context(), &out, shardreader.RecordOptions{API: sdk.New(w.streams, record.DecoderOptions{DynamoDBLocal: true}), Source: "shop", EmptyPages: 2})
	if err != nil || r.Records != 2 {
		t.Errorf("%d records, want an INSERT and a REMOVE, %v:\n%s", r.Records, err, out.Bytes())
	}
}
