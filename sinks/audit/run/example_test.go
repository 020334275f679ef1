package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/sinks/local"
)

const ordersByStatus = `
version: 1
name: shop
source: {table: shop}
sinks:
  orders_by_status:
    view: {table: views, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}
`

// The only item of the table, in the form of an export.
const order = `{"Item":{"PK":{"S":"O1"},"Status":{"S":"paid"}}}` + "\n"

var decoder = record.SnapshotOptions{DecoderOptions: record.DecoderOptions{Table: "shop", EpochZero: true}, Keys: []string{"PK"}}

// table is a Lookup with which the audit reads an item again before it reports a difference.
type table struct{}

func (table) Read(_ context.Context, keys []item.Key) (read []run.Item, err error) {
	for range keys {
		c, err := record.OneChange(record.NewSnapshotDecoder(decoder).DecodeLines([]byte(order)), nil)
		if err != nil {
			return nil, err
		}
		read = append(read, run.Item{ItemState: audit.ItemState{Change: c}})
	}
	return read, nil
}

// An audit compares the items of a file with a view that was never filled.
func ExampleAudit() {
	dir, err := os.MkdirTemp("", "audit-")
	if err == nil {
		err = errors.Join(auditFile(context.Background(), dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// items: 1 differing: 1 complete: true
	// orders_by_status O1 missing row PK="STATUS#paid" SK="O1"
}

func auditFile(ctx context.Context, dir string) (err error) {
	cfg, err := config.Parse("tablewake.yaml", []byte(ordersByStatus), os.LookupEnv)
	if err != nil {
		return err
	}
	stores, err := local.Open(filepath.Join(dir, "stores"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	if _, err := sinks.Assemble(ctx, cfg, stores); err != nil { // saves the settings of the view, which the audit requires
		return err
	}
	opened, err := audit.Open(ctx, cfg, stores, audit.Options{})
	if err != nil {
		return err
	}
	file, report := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "report.jsonl")
	if err := os.WriteFile(file, []byte(order), 0o600); err != nil {
		return err
	}
	saved, err := items.Open(ctx, items.Options{Paths: []string{file}, Decoder: decoder})
	if err != nil {
		return err
	}
	sum, err := run.Audit(ctx, run.Options{Report: report, Sinks: opened, Items: saved, Lookup: table{}, Segments: 1, NoWriters: true})
	if err != nil {
		return err
	}
	fmt.Println("items:", sum.Items, "differing:", sum.Differing, "complete:", sum.Complete())
	_, _, err = run.ReadReport(report, func(sink string, f *audit.Finding) error {
		fmt.Println(sink, f.Item, f.Verdict, f.Kind, f.PlaceText)
		return nil
	})
	return err
}
