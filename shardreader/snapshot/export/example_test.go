package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

// An export in a folder is read file by file. A pipeline reads it through a snapshot.Source.
func ExampleOpen() {
	ctx := context.Background()
	shop, err := export.Open(ctx, export.Options{
		Layers:  []string{"../../../test/fixtures/shop/export"},
		Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK", "SK"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(shop.Info().TableARN, shop.Info().Time)

	types := map[string]int{}
	for _, part := range shop.Parts() {
		reader, err := shop.Open(ctx, part.ID, "")
		if err != nil {
			log.Fatal(err)
		}
		for {
			page, err := reader.Read(ctx)
			if errors.Is(err, io.EOF) {
				break // the file is complete, and has the checksum of the manifest
			} else if err != nil {
				log.Fatal(err)
			}
			decoded, err := page.Decoded()
			if err != nil {
				log.Fatal(err)
			}
			for _, c := range decoded.Changes {
				kind, _ := c.New.Get("Type")
				text, _ := kind.Text()
				types[text]++
			}
		}
		reader.Close()
	}
	fmt.Println(types)
	// Output:
	// arn:aws:dynamodb:ddblocal:000000000000:table/shop 2026-11-21 09:53:00 +0000 UTC
	// map[Order:138 Product:24 Review:30 Session:99 User:60]
}
