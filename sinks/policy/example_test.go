package policy_test

import (
	"fmt"
	"log"
	"os"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// A Lambda function reads the stream of a table and archives its changes. The role of the function needs these rights.
func ExampleStatements() {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
sinks:
  history: {archive: {bucket: shop-archive, prefix: changes/}}
`), os.LookupEnv)
	if err != nil {
		log.Fatal(err)
	}
	statements := policy.Statements(cfg, policy.Options{Runner: policy.Function, Region: "eu-central-1", Account: "123456789012"})
	for _, s := range statements {
		fmt.Println(s.Sid, s.Actions)
		fmt.Println("  on", s.Resources)
	}
	// Output:
	// SourceStream [dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator]
	//   on [arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/*]
	// SourceStreams [dynamodb:ListStreams]
	//   on [*]
	// ArchiveHistory [s3:AbortMultipartUpload s3:GetObject s3:PutObject]
	//   on [arn:aws:s3:::shop-archive/changes/*]
	// ArchiveHistoryMissing [s3:ListBucket]
	//   on [arn:aws:s3:::shop-archive]
}
