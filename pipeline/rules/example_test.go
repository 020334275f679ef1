package rules_test

import (
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline"
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

// A filter consists of conditions. The changes that it drops are counted under its reason.
func ExampleDrop() {
	status, err := item.ParsePattern("Status")
	if err != nil {
		log.Fatal(err)
	}
	filters := []pipeline.Filter{
		rules.Drop("ttl_deletes", rules.TTLDeletes()),
		rules.Keep("orders", rules.Entity("Type", "Order")),
		rules.Drop("settled", rules.All(rules.Operations(record.Modify), rules.Changed(status))),
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

// A detector returns events. When restricts a detector to changes that match a condition.
func ExampleTransition() {
	status, err := item.ParsePath("Status")
	if err != nil {
		log.Fatal(err)
	}
	completed := rules.When(rules.Entity("Type", "Order"), rules.Transition(status, "*", "completed"))
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
