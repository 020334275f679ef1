package pushdown_test

import (
	"fmt"
	"log"
	"os"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// Lambda drops the records whose key the filter does not keep. A key can be a text or bytes, so there are two patterns.
func ExampleNew() {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
filters:
  - keep: {key_prefix: {PK: 'ORDER#'}}
sinks:
  history: {archive: {bucket: shop-archive, prefix: changes/}}
`), os.LookupEnv)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := pushdown.New(cfg, pushdown.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range plan.Patterns {
		fmt.Println(p)
	}
	for _, p := range plan.Parts {
		fmt.Println(p.What+":", p.Pushed, p.Left)
	}
	// Output:
	// {"dynamodb":{"Keys":{"PK":{"B":[{"prefix":"T1JERVIj"}]}}}}
	// {"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"ORDER#"}]}}}}
	// filter "keep_key_prefix": whole []
	// what the sinks take: not [history needs every change: it archives every change]
}
