package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// A service shows the newest rows of a partition that is spread over 10 shards, page by page.
func Example_partition() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	table := view.Table{Name: "shop-views", PK: "PK", SK: "SK"}
	if err := putOrders(ctx, store, table); err != nil {
		fmt.Println(err)
		return
	}

	// The view has PK: 'STATUS#{Status}#{@shard}' and shards: 10.
	pending := view.Partition{Table: table, Keys: view.ShardKeys(10, "STATUS#pending#", "")}
	cursor := ""
	for page := range 2 {
		for row, err := range pending.Rows(ctx, store, view.PartitionQuery{Limit: 3, Reverse: true, Cursor: cursor}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(page+1, string(row.Item.AppendJSON(nil)))
			cursor = pending.Cursor(row)
		}
	}
	// Output:
	// 1 {"PK":"STATUS#pending#8","SK":"2026-01-08#o8"}
	// 1 {"PK":"STATUS#pending#1","SK":"2026-01-07#o7"}
	// 1 {"PK":"STATUS#pending#0","SK":"2026-01-06#o6"}
	// 2 {"PK":"STATUS#pending#3","SK":"2026-01-05#o5"}
	// 2 {"PK":"STATUS#pending#2","SK":"2026-01-04#o4"}
	// 2 {"PK":"STATUS#pending#5","SK":"2026-01-03#o3"}
}

// putOrders writes the rows of eight orders like a view with shards.
func putOrders(ctx context.Context, store *sqlite.Store, table view.Table) error {
	v, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", 1))
	if err != nil {
		return err
	}
	var rows []view.Mutation
	for i := range 8 {
		key := fmt.Sprintf("o%d", i+1)
		rows = append(rows, view.Mutation{
			PK:      item.StringValue(fmt.Sprintf("STATUS#pending#%d", item.Shard(key, 10))),
			SK:      item.StringValue(fmt.Sprintf("2026-01-%02d#%s", i+1, key)),
			Version: v, Source: item.Key(key), Attributes: []state.Column{},
		})
	}
	_, err = store.Apply(ctx, view.Target{Table: table, View: "by_status", Pipeline: "shop"}, rows)
	return err
}
