package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A whole consumer with a sink of its own: one process, with its leases in a file. On
// AWS the API is that of shardreader/sdk, and the leases are in a table of leases/dynamo.
func Example() {
	server := streamtest.New(streamtest.Options{})
	server.AddStream("orders")
	orders := server.Table("orders", "PK")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	left := 2
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			total, _ := d.Change.New.Get("Total")
			n, _ := total.Number()
			fmt.Println(d.Change.Op, d.Change.Table, n)
		}
		if left -= len(ds); left == 0 {
			stop() // as SIGTERM does
		}
		return nil
	})
	for _, order := range []string{`{"PK":{"S":"o1"},"Total":{"N":"5"}}`, `{"PK":{"S":"o1"},"Total":{"N":"7.50"}}`} {
		if _, err := orders.Put(order); err != nil {
			fmt.Println(err)
		}
	}
	if err := consume(ctx, server, sink); err != nil {
		fmt.Println(err)
	}
	// Output:
	// INSERT orders 5
	// MODIFY orders 7.5
}

// consume reads until ctx is done, and returns when everything is released.
func consume(ctx context.Context, api *streamtest.Server, sink pipeline.Sink) (err error) {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	table, err := file.Open(filepath.Join(dir, "leases"), "orders")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Close()) }()

	p, err := pipeline.New(pipeline.Options{Name: "orders", Live: true, Routes: []pipeline.Route{{Name: "printed", Sink: sink}}})
	if err != nil {
		return err
	}
	c, err := consumer.New(consumer.Options{
		API: api, Table: table, Gaps: table,
		Coordinator: coordinator.Options{Name: "orders-1", Sources: []coordinator.Source{{Table: "orders"}}},
	})
	if err != nil {
		return err
	}
	err = p.Run(ctx, c, c)
	return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}
