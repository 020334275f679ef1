package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

const file = `
version: 1
name: shop
source: {table: shop}
detect:
  order_completed: {attribute: Status, to: completed}
sinks:
  orders_by_status:
    view:
      table: shop-views
      when: 'item.Type == "Order"'
      key: {PK: 'STATUS#{Status}', SK: '{@key}'}
      attributes: {total: '{Total}'}
  completed:
    notify: {events: [order_completed]}
`

// A user is inserted. An order is paid and then completed.
const stream = `
{"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"U1"}},"SequenceNumber":"100000000000000000001","NewImage":{"PK":{"S":"U1"},"Type":{"S":"User"}},"StreamViewType":"NEW_AND_OLD_IMAGES"}}
{"eventID":"2","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"O1"}},"SequenceNumber":"100000000000000000002","NewImage":{"PK":{"S":"O1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"12.50"}},"StreamViewType":"NEW_AND_OLD_IMAGES"}}
{"eventID":"3","eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":"O1"}},"SequenceNumber":"100000000000000000003","OldImage":{"PK":{"S":"O1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"12.50"}},"NewImage":{"PK":{"S":"O1"},"Type":{"S":"Order"},"Status":{"S":"completed"},"Total":{"N":"12.50"}},"StreamViewType":"NEW_AND_OLD_IMAGES"}}
`

// A program assembles the pipeline of a file, replays saved records into embedded stores, and reads the view.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tablewake")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	stores, err := local.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := sinks.Assemble(ctx, cfg, stores)
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := replay.Open(replay.Options{
		Paths:   []string{"-"},
		Stdin:   strings.NewReader(stream),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(p.Run(ctx, src, nil), src.Close(), stores.Close()); err != nil {
		fmt.Println(err)
		return
	}

	l := p.Ledger()
	fmt.Printf("read %d, events %v\n", l.Source.Read, l.Events)
	fmt.Printf("orders_by_status: no effect %v\n", l.Sinks["orders_by_status"].NoEffect)

	views, err := sqlite.Open(ctx, stores.Dir().Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer views.Close()
	for row, err := range views.Rows(ctx, view.Table{Name: "shop-views"}, view.Query{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		total, _ := row.Item.Get("total")
		fmt.Println(row.PK, row.SK, total)
	}
	// Output:
	// read 3, events map[order_completed:1]
	// orders_by_status: no effect map[when:1]
	// {"S":"STATUS#completed"} {"S":"O1"} {"N":"12.50"}
}
