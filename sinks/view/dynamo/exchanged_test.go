package dynamo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// A process that writes to a table detects within half a minute that the table was exchanged.
func TestApply_ExchangedTable(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	now := time.Unix(1_800_000_000, 0)
	table := view.Table{Name: "views", PK: "PK"}
	s := withTable(t, statedynamo.Options{Client: client, Now: func() time.Time { return now }}, table)
	birth, err := s.State("shop").RecordBirth(t.Context(), state.NewBirth("orders", "table views", now))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Output(state.OutputRef{Pipeline: "shop", Sink: "orders", Name: "views"}).Identity(t.Context()); err != nil {
		t.Fatal(err)
	}
	target := view.Target{Table: table, View: "orders", Pipeline: "shop", Birth: birth.ID, InPlace: true}
	n := 0
	put := func() error {
		n++
		_, err := s.Apply(t.Context(), target, []view.Mutation{{PK: item.StringValue("a"), Source: "a", Version: version(t, n)}})
		return err
	}
	for range 2 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("views")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), table, dynamo.KeyTypes{}); err != nil {
		t.Fatal(err)
	}
	if err := put(); !pipeline.IsFatal(err) {
		t.Fatalf("into an exchanged table: %v", err)
	} else if _, lost := errors.AsType[*state.LostError](err); !lost {
		t.Errorf("the error is %v", err)
	}
}
