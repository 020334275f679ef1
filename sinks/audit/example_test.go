package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/local"
)

const ordersByStatus = `
version: 1
name: shop
source: {table: shop}
sinks:
  orders_by_status:
    view: {table: views, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {total: '{Total}'}}
`

// An item of the table has no row in the view. The audit finds the missing row and writes it.
func Example() {
	dir, err := os.MkdirTemp("", "audit-")
	if err == nil {
		err = errors.Join(repairItem(context.Background(), dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// orders_by_status row PK="STATUS#paid" SK="O1" missing
	// repaired put row PK="STATUS#paid" SK="O1"
	// orders_by_status row PK="STATUS#paid" SK="O1" equal
}

func repairItem(ctx context.Context, dir string) (err error) {
	cfg, err := config.Parse("tablewake.yaml", []byte(ordersByStatus), os.LookupEnv)
	if err != nil {
		return err
	}
	stores, err := local.Open(dir)
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
	items := record.NewSnapshotDecoder(record.SnapshotOptions{
		DecoderOptions: record.DecoderOptions{Table: "shop", EpochZero: true}, Keys: []string{"PK"},
	}).DecodeLines([]byte(`{"Item":{"PK":{"S":"O1"},"Status":{"S":"paid"},"Total":{"N":"12.50"}}}`))

	sink, order := opened[0], &audit.ItemState{Change: items.Changes[0]}
	for range 2 {
		findings, err := sink.Compare(ctx, order, nil)
		if err != nil {
			return err
		}
		for _, f := range findings {
			fmt.Println(sink.Name(), f.Kind, f.PlaceText, f.Verdict)
			if !f.Verdict.Differs() {
				continue
			}
			done, err := sink.Repair(ctx, order, f)
			if err != nil {
				return err
			}
			fmt.Println(done.Result, done.WriteText)
		}
	}
	return nil
}
