package dynamo_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
)

// A program shows which shards a fleet reads, and how far. It needs an AWS account.
func ExampleTable() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	table, err := dynamo.New(dynamo.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: "orders-leases", StateTable: "tablewake-state", Pipeline: "orders",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := table.CreateTables(ctx); err != nil { // unless they exist
		log.Fatal(err)
	}
	if err := table.Claim(ctx); err != nil { // no other pipeline may use the lease table
		log.Fatal(err)
	}
	rows, err := table.Read(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range rows.Leases {
		log.Printf("%s reads %s, and has read it up to %s", l.Owner, l.Shard, l.Checkpoint)
	}
}
