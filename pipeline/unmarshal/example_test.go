package unmarshal_test

import (
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// order returns a change as a source would bring it: the status of an order changed to completed.
func order() *record.Change {
	old, err := item.Parse([]byte(`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"19.90"}}`))
	if err != nil {
		log.Fatal(err)
	}
	new, err := item.Parse([]byte(`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"completed"},"Total":{"N":"19.90"}}`))
	if err != nil {
		log.Fatal(err)
	}
	return &record.Change{Op: record.Modify, Old: old, New: new}
}

// Decode reads an image into a struct. It uses the same tags as attributevalue. A Decimal keeps every digit of a
// number.
func ExampleDecode() {
	type Order struct {
		ID     string          `dynamodbav:"PK"`
		Status string          `dynamodbav:"Status"`
		Total  decimal.Decimal `dynamodbav:"Total"`
	}
	o, err := unmarshal.Decode[Order](order().New)
	fmt.Println(o.ID, o.Status, o.Total, err)
	// Output: ORDER#1 completed 19.9 <nil>
}
