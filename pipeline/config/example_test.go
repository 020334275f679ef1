package config_test

import (
	"fmt"
	"os"

	"github.com/tablewake/tablewake/pipeline/config"
)

// Parse returns all mistakes of a file in one error.
func ExampleParse() {
	const file = `
version: 1
name: shop
source: {table: shop}
entities: {Order: {key: {PK: 'ORDER#{OrderId}'}, attributes: {Status: S}}}
sinks:
  orders: {view: {of: Order, table: views, key: {PK: 'STATUS#{Stats}', SK: '{OrdrId}'}}}
`
	_, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	fmt.Println(err)
	// Output:
	// tablewake.yaml:7:54: sinks.orders.view.key.PK: 'Stats' is no attribute of Order; did you mean Status? Or add `Stats: S` (or its type) to the attributes of Order
	// tablewake.yaml:7:76: sinks.orders.view.key.SK: 'OrdrId' is no attribute of Order; did you mean OrderId? Or add `OrdrId: S` (or its type) to the attributes of Order
}
