package opensearch_test

import (
	"context"
	"encoding/json"
	"log"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// The store creates the index of a sink, and the sink writes documents to the index. The example needs an OpenSearch
// server.
func ExampleNew() {
	ctx := context.Background()
	index, err := template.Parse("products", template.Options{})
	if err != nil {
		log.Fatal(err)
	}
	store, err := opensearch.New(opensearch.Options{
		URL: "http://localhost:9200",
		Indexes: &opensearch.Indexes{
			Pipeline: "shop", Sink: "products", Name: index,
			Mapping: json.RawMessage(`{"properties":{"title":{"type":"text"},"Price":{"type":"double"}}}`),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Open(ctx); err != nil {
		log.Print(err)
		return
	}
	products, err := search.New(search.Options{
		Pipeline: "shop", Store: store, Index: index,
		Fields: search.Fields{Include: []string{"Name", "Price"}, Rename: map[string]string{"Name": "title"}},
	})
	if err != nil {
		log.Print(err)
		return
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "products", Sink: products}}})
	if err != nil {
		log.Print(err)
		return
	}
	log.Print(p.Routes()) // p.Run delivers the changes of a source to the routes
}
