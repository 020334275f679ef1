package pipeline_test

import (
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline"
)

// order is a change as a source would bring it: an order was completed.
func order() *pipeline.Change {
	old, err := pipeline.ParseImage([]byte(`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"19.90"}}`))
	if err != nil {
		log.Fatal(err)
	}
	new, err := pipeline.ParseImage([]byte(`{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"completed"},"Total":{"N":"19.90"}}`))
	if err != nil {
		log.Fatal(err)
	}
	return &pipeline.Change{Op: pipeline.Modify, Old: old, New: new}
}

// A filter is built of conditions; what it drops is counted under its reason.
func ExampleDrop() {
	status, err := pipeline.ParsePattern("Status")
	if err != nil {
		log.Fatal(err)
	}
	filters := []pipeline.Filter{
		pipeline.Drop("ttl_deletes", pipeline.TTLDeletes()),
		pipeline.Keep("orders", pipeline.Entity("Type", "Order")),
		pipeline.Drop("settled", pipeline.All(pipeline.Operations(pipeline.Modify), pipeline.Changed(status))),
	}
	for _, f := range filters {
		verdict, err := f.Check(order())
		fmt.Printf("%+v %v\n", verdict, err)
	}
	// Output:
	// {Drop:false Reason:} <nil>
	// {Drop:false Reason:} <nil>
	// {Drop:true Reason:settled} <nil>
}

// A condition of one's own is a function; it combines with the built-in ones.
func ExampleConditionFunc() {
	limit := pipeline.DecimalOf(100)
	large := pipeline.ConditionFunc(func(c *pipeline.Change) (bool, error) {
		total, _ := c.New.Get("Total")
		n, ok := total.Number()
		return ok && n.Cmp(limit) >= 0, nil
	})
	verdict, err := pipeline.Drop("small", pipeline.Not(large)).Check(order())
	fmt.Printf("%+v %v\n", verdict, err)
	// Output: {Drop:true Reason:small} <nil>
}

// A detector raises events; When restricts it.
func ExampleTransition() {
	status, err := pipeline.ParsePath("Status")
	if err != nil {
		log.Fatal(err)
	}
	completed := pipeline.When(pipeline.Entity("Type", "Order"), pipeline.Transition(status, "*", "completed"))
	events, err := completed.Detect(nil, order())
	for _, e := range events {
		from, _ := e.Old.Text()
		to, _ := e.New.Text()
		fmt.Printf("%s: %s -> %s\n", e.Path, from, to)
	}
	fmt.Println(err)
	// Output:
	// Status: paid -> completed
	// <nil>
}

// A detector of one's own is a pure function of the change.
func ExampleDetectorFunc() {
	discounted := pipeline.DetectorFunc(func(dst []pipeline.Event, c *pipeline.Change) ([]pipeline.Event, error) {
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

// Decode reads an image into a struct, by the tags that attributevalue uses. A
// Decimal keeps every digit of a number.
func ExampleDecode() {
	type Order struct {
		ID     string           `dynamodbav:"PK"`
		Status string           `dynamodbav:"Status"`
		Total  pipeline.Decimal `dynamodbav:"Total"`
	}
	o, err := pipeline.Decode[Order](order().New)
	fmt.Println(o.ID, o.Status, o.Total, err)
	// Output: ORDER#1 completed 19.9 <nil>
}
