package dynamo_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// A service reads the newest ten rows of a partition. The example needs an AWS account.
func ExampleReader() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	reader, err := dynamo.NewReader(dynamodb.NewFromConfig(sdk))
	if err != nil {
		log.Fatal(err)
	}
	views := view.Table{Name: "shop-views", PK: "PK", SK: "SK"}
	newest := view.Query{PK: item.StringValue("STATUS#open"), SKPrefix: "2026-", Reverse: true, Limit: 10}
	for row, err := range reader.Rows(ctx, views, newest) { // without tombstones and attributes of the store
		if err != nil {
			log.Fatal(err)
		}
		log.Print(string(row.Item.AppendJSON(nil)))
	}
}
