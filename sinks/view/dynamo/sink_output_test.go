package dynamo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
	"github.com/tablewake/tablewake/sinks/view"
)

// Inspect finds the only row of a sink behind all other rows of the table if it must be complete. Otherwise it ends
// earlier.
func TestOutput_LookAtALargeTable(t *testing.T) {
	client := dynamotest.Open(t).Client("", nil)
	table := view.Table{Name: "views", PK: "PK"}
	s := withTable(t, statedynamo.Options{Client: client}, table)
	large := statedynamo.S(strings.Repeat("x", 390<<10))
	for i := range 60 { // 23 MB
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("views"), Item: statedynamo.Item{"PK": statedynamo.S(fmt.Sprint("other", i)), "x": large}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 { // the place of a key in the table is unknown: look for a key near the end
		pipe := fmt.Sprint("shop", i)
		target := view.Target{Table: table, View: "orders", Pipeline: pipe, Birth: "b", InPlace: true}
		row := view.Mutation{PK: item.StringValue(pipe), Source: "a", Version: version(t, 1)}
		if rs, err := s.Apply(t.Context(), target, []view.Mutation{row}); err != nil || rs[0].Err != nil {
			t.Fatal(rs, err)
		}
		out := s.Output(state.OutputRef{Pipeline: pipe, Sink: "orders", Name: "views"})
		short, err := out.Inspect(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if short.Total() > 0 {
			continue
		}
		if whole, err := out.Inspect(t.Context(), true); err != nil || short.Complete || whole.Seen["b"] != 1 {
			t.Errorf("a short look sees %+v, a whole one %+v (%v)", short, whole, err)
		}
		return
	}
	t.Error("each row is at the table's beginning")
}
