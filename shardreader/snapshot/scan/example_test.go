package scan_test

import (
	"context"
	"errors"
	"io"
	"log"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// The items of a table are read segment by segment. A pipeline reads them through a snapshot.Source. It needs an AWS account.
func ExampleNew() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	table, err := scan.New(ctx, scan.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: "shop", RCU: 100, Time: time.Now(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range table.Parts() {
		reader, err := table.Open(ctx, part.ID, "")
		if err != nil {
			log.Fatal(err)
		}
		for {
			page, err := reader.Read(ctx)
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				log.Fatal(err)
			}
			decoded, err := page.Decoded()
			if err != nil {
				log.Fatal(err)
			}
			log.Print(len(decoded.Changes), " items after ", page.Position)
		}
		reader.Close()
	}
}
