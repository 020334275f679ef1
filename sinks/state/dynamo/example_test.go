package dynamo_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// A program creates the state table and shows which items of a pipeline are in quarantine. This example needs an AWS
// account.
func ExampleNew() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	db, err := dynamo.New(dynamo.Options{Client: dynamodb.NewFromConfig(sdk), Table: "tablewake-state", Pipeline: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateState(ctx); err != nil { // does nothing if the table exists
		log.Print(err)
		return
	}
	for mark, err := range db.State("shop").Marks(ctx, "") {
		if err != nil {
			log.Print(err)
			return
		}
		log.Printf("%s is held at %s since %s: %d letters", mark.Key, mark.Sink, mark.Since, mark.Letters)
	}
}
