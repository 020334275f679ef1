package view_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// A view has a row for each order, at a key with its status. A change of the status moves the row.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "view")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := viewOrders(context.Background(), filepath.Join(dir, "views.db")); err != nil {
		log.Print(err)
	}
	// Output:
	// {"PK":"STATUS#open","SK":"o2"}
	// {"PK":"STATUS#paid","SK":"o1"}
}

func viewOrders(ctx context.Context, path string) error {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	status, err := template.Parse("STATUS#{Status}", template.Options{})
	if err != nil {
		return err
	}
	key, err := template.Parse("{@key}", template.Options{})
	if err != nil {
		return err
	}
	orders, err := view.New(view.Options{
		Name: "by_status", Pipeline: "shop", Table: "shop-views", Store: store,
		PK: view.Attribute{Name: "PK", Template: status}, SK: view.Attribute{Name: "SK", Template: key},
	})
	if err != nil {
		return err
	}

	// A pipeline does the following with each page of its stream.
	page := record.NewDecoder(record.DecoderOptions{EpochZero: true}).DecodeLines([]byte(`
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"o1"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"open"}}}}
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"PK":{"S":"o2"}},"NewImage":{"PK":{"S":"o2"},"Status":{"S":"open"}}}}
		{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"3","Keys":{"PK":{"S":"o1"}},"OldImage":{"PK":{"S":"o1"},"Status":{"S":"open"}},"NewImage":{"PK":{"S":"o1"},"Status":{"S":"paid"}}}}
	`))
	deliveries := make([]pipeline.Delivery, len(page.Changes))
	for i := range deliveries {
		deliveries[i].Change = &page.Changes[i]
		if err := orders.Plan(&deliveries[i]); err != nil {
			return err
		}
	}
	if err := orders.Write(ctx, deliveries); err != nil {
		return err
	}

	for row, err := range store.Rows(ctx, orders.Target().Table, view.Query{}) {
		if err != nil {
			return err
		}
		fmt.Println(string(row.Item.AppendJSON(nil)))
	}
	return nil
}
