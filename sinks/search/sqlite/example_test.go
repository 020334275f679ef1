package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
	state "github.com/tablewake/tablewake/sinks/state/sqlite"
)

// A pipeline keeps an index of products in a folder.
func Example() {
	dir, err := os.MkdirTemp("", "products-")
	if err == nil {
		err = errors.Join(indexProducts(context.Background(), dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// p1 of 1: {"_tw":{"version":"00000000000000000000000000000000000000000000000001","by":"shop"},"title":"Red shoe","Price":49.9}
}

func indexProducts(ctx context.Context, dir string) error {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "views.db"), search.Owner{Pipeline: "shop", Sink: "products"}, state.Options{})
	if err != nil {
		return err
	}
	defer store.Close()

	index, err := template.Parse("products", template.Options{})
	if err != nil {
		return err
	}
	products, err := expr.Env{}.CompileItem(`item.Type == "Product"`)
	if err != nil {
		return err
	}
	sink, err := search.New(search.Options{
		Pipeline: "shop",
		Store:    store,
		Index:    index,
		When:     products,
		Fields:   search.Fields{Include: []string{"Name", "Price"}, Rename: map[string]string{"Name": "title"}},
	})
	if err != nil {
		return err
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "products", Sink: sink}}})
	if err != nil {
		return err
	}

	records := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines([]byte(
		`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"p1"}},"NewImage":{"PK":{"S":"p1"},"Type":{"S":"Product"},"Name":{"S":"Red shoe"},"Price":{"N":"49.90"}}}}
{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Type":{"S":"Order"},"Name":{"S":"One red shoe"}}}}
`))
	pages := []*pipeline.Page{{Page: *records}}
	source := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if len(pages) == 0 {
			return nil, io.EOF
		}
		page := pages[0]
		pages = pages[1:]
		return page, nil
	})
	if err := p.Run(ctx, source, nil); err != nil {
		return err
	}

	hits, err := store.Search(ctx, "products", "shoe", 10)
	if err != nil {
		return err
	}
	for _, d := range hits.Documents {
		fmt.Printf("%s of %d: %s\n", d.ID, hits.Total, d.Doc)
	}
	return nil
}
