package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

// A program fills its own sink with the items of a file. After a crash, the next run continues at the stored position
// of each part. An export or a scan can be used as a snapshot in the same way.
func ExampleOpen_backfill() {
	dir, err := os.MkdirTemp("", "tablewake")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "items.jsonl")
	err = os.WriteFile(path, []byte(`{"PK":{"S":"O1"}}`+"\n"+`{"PK":{"S":"O2"}}`+"\n"), 0o600)
	if err == nil {
		err = fillCRM(context.Background(), filepath.Join(dir, "out"), path)
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// SNAPSHOT O1
	// SNAPSHOT O2
}

func fillCRM(ctx context.Context, dir, path string) error {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  customers: {custom: {name: crm, concurrency: 1}}
`), os.LookupEnv)
	if err != nil {
		return err
	}
	stores, err := local.Open(dir)
	if err != nil {
		return err
	}
	defer stores.Close()
	crm := func(context.Context, struct{}) (pipeline.Sink, error) {
		return pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
			for _, d := range ds {
				fmt.Println(d.Change.Op, d.Change.Key)
			}
			return nil
		}), nil
	}
	p, err := sinks.Assemble(ctx, cfg, stores, sinks.With("crm", crm),
		sinks.Backfill(sinks.BackfillOptions{Sinks: []string{"customers"}}))
	if err != nil {
		return err
	}
	snap, err := items.Open(ctx, items.Options{Paths: []string{path}, Decoder: record.SnapshotOptions{
		DecoderOptions: record.DecoderOptions{Table: "shop", EpochZero: true}, Keys: []string{"PK"},
	}})
	if err != nil {
		return err
	}
	kept, err := stores.State(ctx, cfg)
	if err != nil {
		return err
	}
	run := state.Backfill{Run: "customers-1", Sinks: "customers", Source: snap.Info().Source,
		Start: time.Now().UTC().Truncate(time.Second), Parts: len(snap.Parts())}
	if run, err = kept.AddBackfill(ctx, run); err != nil {
		return err
	}
	src, err := snapshot.NewSource(snapshot.SourceOptions{
		Snapshot: snap, Backfills: kept, Run: run.Run, Owner: "host-" + state.NewID(),
	})
	if err != nil {
		return err
	}
	return errors.Join(p.Run(ctx, src, src), src.Close(ctx))
}
