package pipeline_test

import (
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
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

// A custom condition is a function. It can be combined with the built-in conditions.
func ExampleConditionFunc() {
	limit := decimal.Of(100)
	large := pipeline.ConditionFunc(func(c *record.Change) (bool, error) {
		total, _ := c.New.Get("Total")
		n, ok := total.Number()
		return ok && n.Cmp(limit) >= 0, nil
	})
	verdict, err := rules.Drop("small", rules.Not(large)).Check(order())
	fmt.Printf("%+v %v\n", verdict, err)
	// Output: {Drop:true Reason:small} <nil>
}

// A custom detector is a pure function of the change.
func ExampleDetectorFunc() {
	discounted := pipeline.DetectorFunc(func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
		old, _ := c.Old.Get("Total")
		new, _ := c.New.Get("Total")
		before, ok := old.Number()
		after, ok2 := new.Number()
		if ok && ok2 && after.Cmp(before) < 0 {
			dst = append(dst, pipeline.Event{Path: "Total", Old: old, New: new})
		}
		return dst, nil
	})
	events, err := discounted.Detect(nil, order())
	fmt.Println(len(events), err)
	// Output: 0 <nil>
}
