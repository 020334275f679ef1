package search_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
)

// printed is a store that prints the mutations. It stores nothing, so it does not refuse older versions.
type printed struct{}

func (printed) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	for _, m := range ms {
		fmt.Println(&m)
	}
	return make([]search.Result, len(ms)), nil // all mutations are written
}

// The sink writes a document for each item, and a tombstone for a deleted item.
func ExampleNew() {
	index, err := template.Parse("products", template.Options{})
	if err != nil {
		log.Fatal(err)
	}
	products, err := search.New(search.Options{
		Pipeline: "shop", Store: printed{}, Index: index,
		Fields: search.Fields{Include: []string{"Name", "Price"}, Rename: map[string]string{"Name": "title"}},
	})
	if err != nil {
		log.Fatal(err)
	}

	// A pipeline does the following with each page of its stream.
	page := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines([]byte(`
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"p1"}},"NewImage":{"PK":{"S":"p1"},"Name":{"S":"Shoe"},"Price":{"N":"49.90"}}}}
		{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"2","Keys":{"PK":{"S":"p2"}},"OldImage":{"PK":{"S":"p2"},"Name":{"S":"Old shoe"}}}}
	`))
	deliveries := make([]pipeline.Delivery, len(page.Changes))
	for i := range deliveries {
		deliveries[i].Change = &page.Changes[i]
		if err := products.Plan(&deliveries[i]); err != nil {
			log.Fatal(err)
		}
	}
	if err := products.Write(context.Background(), deliveries); err != nil {
		log.Fatal(err)
	}
	// Output:
	// put document products/p1 (enter, 112 bytes)
	// delete document products/p2 (removed, leaves a tombstone)
}
