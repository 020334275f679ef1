package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// A pipeline reads a file of items. Run once more with the same state, it reads nothing: the file is done.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.jsonl")
	err = os.WriteFile(path, []byte(`{"PK":{"S":"o1"}}`+"\n"+`{"PK":{"S":"o2"}}`+"\n"), 0o600)
	for range 2 {
		if err == nil {
			err = fill(context.Background(), filepath.Join(dir, "state.db"), path)
		}
	}
	if err != nil {
		log.Print(err)
	}
	// Output:
	// SNAPSHOT o1
	// SNAPSHOT o2
	// items 2, parts 1, items of this process 2
	// items 2, parts 1, items of this process 0
}

func fill(ctx context.Context, stateFile, path string) error {
	db, err := sqlite.Open(ctx, stateFile, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	snap, err := items.Open(ctx, items.Options{Paths: []string{path}, Decoder: record.SnapshotOptions{
		DecoderOptions: record.DecoderOptions{Table: "orders", EpochZero: true}, Keys: []string{"PK"},
	}})
	if err != nil {
		return err
	}
	src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: snap, Backfills: db.State("orders"), Run: "orders-1", Owner: state.NewID()})
	if err != nil {
		return err
	}
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			fmt.Println(d.Change.Op, d.Change.Key)
		}
		return nil
	})
	p, err := pipeline.New(pipeline.Options{Name: "orders", Routes: []pipeline.Route{{Name: "printed", Sink: sink, Concurrency: 1}}})
	if err != nil {
		return err
	}
	err = errors.Join(p.Run(ctx, src, src), src.Close(ctx))
	done := src.Progress()
	fmt.Printf("items %d, parts %d, items of this process %d\n", done.Items, done.Parts, done.OwnItems)
	return err
}
