package dynamo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// Fact 24: BatchGetItem returns the keys that it did not process. Get requests these keys again and returns the items
// in the order of the requests. A Client has no BatchWriteItem, because its puts have no conditions.
func TestFact24_Unprocessed(t *testing.T) {
	var faults dynamotest.Faults
	db := open(t, &faults)
	numbers := dynamo.TableSpec{Name: "numbers", PK: dynamo.KeyAttribute{Name: "n", Type: types.ScalarAttributeTypeN}}
	if err := db.Create(t.Context(), numbers); err != nil {
		t.Fatal(err)
	}
	number := func(digits string) dynamo.Ref {
		return dynamo.Ref{Table: "numbers", Key: dynamo.Item{"n": dynamo.N(digits)}}
	}
	const n = 250
	var refs []dynamo.Ref
	for i := range n {
		if i%2 == 0 {
			if err := db.Write(t.Context(), put(fmt.Sprint(i), fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		refs = append(refs, dynamo.Ref{Table: table, Key: key(fmt.Sprint(i))})
	}
	one := dynamo.Action{Put: &types.Put{TableName: aws.String("numbers"), Item: dynamo.Item{"n": dynamo.N("1.50")}}}
	if err := db.Write(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	refs = append(refs, number("1.5"), refs[2], number("1.50"), number("2"))

	for what, fault := range map[string][]dynamotest.Fault{
		"whole":      nil,
		"in parts":   {dynamotest.Unprocessed(7), dynamotest.Unprocessed(50), dynamotest.Unprocessed(0), dynamotest.Unprocessed(1), dynamotest.Unprocessed(60)},
		"with fault": {dynamotest.Throttle(), dynamotest.Lost(), dynamotest.Cut(20), dynamotest.Unavailable(500)},
	} {
		faults.Next("BatchGetItem", fault...)
		got, err := db.Get(t.Context(), refs)
		if err != nil || len(got) != len(refs) {
			t.Fatalf("%s: %d answers to %d questions, %v", what, len(got), len(refs), err)
		}
		for i := range n {
			if says := dynamo.Text(got[i], "says"); i%2 == 0 && says != fmt.Sprint(i) || i%2 == 1 && got[i] != nil {
				t.Errorf("%s: item %d is %v", what, i, got[i])
			}
		}
		if dynamo.Digits(got[n], "n") != "1.5" || dynamo.Text(got[n+1], "says") != "2" || dynamo.Digits(got[n+2], "n") != "1.5" || got[n+3] != nil {
			t.Errorf("%s: at the end there are %v", what, got[n:])
		}
	}
	if got, err := db.Get(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no question: %v, %v", got, err)
	}
}

// If BatchGetItem processes no key several times in a row, Get returns ErrThrottled.
func TestGet_NothingProcessed(t *testing.T) {
	var faults dynamotest.Faults
	db := offline(t, &faults)
	none := dynamotest.Unprocessed(0)
	faults.Next("BatchGetItem", none, none, none, none)
	_, err := db.Get(t.Context(), []dynamo.Ref{{Table: table, Key: key("a")}})
	if _, again := pipeline.Retryable(err); !errors.Is(err, dynamo.ErrThrottled) || !again {
		t.Errorf("got %v", err)
	}
}

func TestGet_NoTable(t *testing.T) {
	db := open(t, nil)
	_, err := db.Get(t.Context(), []dynamo.Ref{{Table: "missing", Key: key("a")}})
	if !errors.Is(err, dynamo.ErrNoTable) || !pipeline.IsFatal(err) {
		t.Errorf("got %v", err)
	}
}
