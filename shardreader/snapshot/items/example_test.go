package items_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
)

// A file of items is read page by page. A pipeline reads it through a snapshot.Source.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "items")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.jsonl")
	err = os.WriteFile(path, []byte(`{"PK":{"S":"o1"},"Total":{"N":"5"}}`+"\n"+`{"Item":{"PK":{"S":"o2"},"Total":{"N":"7.50"}}}`+"\n"), 0o600)
	if err == nil {
		err = printItems(context.Background(), path)
	}
	if err != nil {
		log.Print(err)
	}
	// Output:
	// SNAPSHOT o1
	// SNAPSHOT o2
}

func printItems(ctx context.Context, path string) error {
	snap, err := items.Open(ctx, items.Options{Paths: []string{path}, Decoder: record.SnapshotOptions{
		DecoderOptions: record.DecoderOptions{Table: "orders", EpochZero: true}, // no stream continues the file
		Keys:           []string{"PK"},
	}})
	if err != nil {
		return err
	}
	for _, part := range snap.Parts() { // a part is a file
		reader, err := snap.Open(ctx, part.ID, "")
		if err != nil {
			return err
		}
		for {
			page, err := reader.Read(ctx)
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			decoded, err := page.Decoded()
			if err != nil {
				return err
			}
			for _, c := range decoded.Changes {
				fmt.Println(c.Op, c.Key)
			}
		}
		if err := reader.Close(); err != nil {
			return err
		}
	}
	return nil
}
