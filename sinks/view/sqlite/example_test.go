package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// An aggregate over orders is spread over 4 shards, and a service reads it.
func Example_aggregate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "views.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if err := countRevenue(context.Background(), store); err != nil {
		fmt.Println(err)
	}
	// Output:
	// count in group PK="REVENUE#EUR" shard 0: revenue +9.9, orders +1, largest max 9.9 (replaces what the item counted for)
	// a coalesced
	// b written
	// a written
	// count in group PK="REVENUE#EUR" shard 0: revenue +9.9, orders +1, largest max 9.9 (replaces what the item counted for)
	// a superseded
	// b written
	// a written
	// true {"PK":"REVENUE#EUR","revenue":14.1,"orders":2,"largest":9.9}
}

func countRevenue(ctx context.Context, store *sqlite.Store) error {
	currency, err := template.Parse("REVENUE#{Currency}", template.Options{})
	if err != nil {
		return err
	}
	revenue, err := view.NewAggregate(view.AggregateOptions{
		Name: "revenue", Pipeline: "shop", Table: "shop-views", Store: store,
		PK:     view.Attribute{Name: "PK", Template: currency},
		Values: []view.Value{{Name: "revenue", Kind: "sum", Path: "Total"}, {Name: "orders", Kind: "count"}, {Name: "largest", Kind: "max", Path: "Total"}},
		Shards: 4,
	})
	if err != nil {
		return err
	}

	// A pipeline does the following with each page of its stream.
	page := record.NewDecoder(record.DecoderOptions{StreamARN: "arn:aws:dynamodb:eu-west-1:1:table/shop/stream/2026-01-02T03:04:05.678"}).DecodeLines([]byte(`
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"100000000000000000001","Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"},"Currency":{"S":"EUR"},"Total":{"N":"10.50"}}}}
		{"eventName":"INSERT","dynamodb":{"SequenceNumber":"100000000000000000002","Keys":{"id":{"S":"b"}},"NewImage":{"id":{"S":"b"},"Currency":{"S":"EUR"},"Total":{"N":"4.20"}}}}
		{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"100000000000000000003","Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"},"Currency":{"S":"EUR"},"Total":{"N":"9.90"}}}}
	`))
	for range 2 { // the second round is a replay: nothing is counted twice
		deliveries := make([]pipeline.Delivery, len(page.Changes))
		for i := range deliveries {
			deliveries[i].Change = &page.Changes[i]
			if err := revenue.Plan(&deliveries[i]); err != nil {
				return err
			}
		}
		fmt.Println(deliveries[2].Ops[0])
		if err := revenue.Write(ctx, deliveries); err != nil {
			return err
		}
		for _, d := range deliveries {
			fmt.Println(d.Change.Key, d.Outcome)
		}
	}

	row, found, err := revenue.Groups().Get(ctx, store, item.StringValue("REVENUE#EUR"), item.Value{})
	if err != nil {
		return err
	}
	fmt.Println(found, string(row.Item.AppendJSON(nil)))
	return nil
}
