package sinks_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
	"github.com/tablewake/tablewake/sinks"
)

// order has the attributes of an item that the CRM sink needs.
type order struct {
	PK    string
	Total float64
}

// crm is a Go sink that sends orders to a customer system.
type crm struct{ url string }

// crmSettings contains the settings of the sink under `with` in the file.
type crmSettings struct {
	URL string `yaml:"url"`
}

func newCRM(_ context.Context, s crmSettings) (pipeline.Sink, error) {
	return crm{url: s.URL}, nil
}

// Write fingerprints each order. The error contains the orders that failed, and all others count as written.
func (s crm) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		o, err := unmarshal.Decode[order](ds[i].Change.New)
		if err != nil {
			failed.Add(i, err) // the error is not transient, so the change becomes a dead letter
			continue
		}
		fmt.Printf("POST %s/orders/%s total=%.2f\n", s.url, o.PK, o.Total)
	}
	return failed.OrNil()
}

// The file names a Go sink with typed settings in the same way as any other sink.
func ExampleWith() {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
sinks:
  customers:
    custom:
      name: crm
      when: 'op != "REMOVE" && new.Type == "Order"'
      with: {url: 'https://${CRM_HOST}'}
`), func(name string) (string, bool) { return "crm.example", name == "CRM_HOST" })
	if err != nil {
		log.Fatal(err)
	}
	p, err := sinks.Assemble(context.Background(), cfg, sinks.PlanOnly(), sinks.With("crm", newCRM))
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(context.Background(), records(
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"O1"}},"SequenceNumber":"100000000000000000001","NewImage":{"PK":{"S":"O1"},"Type":{"S":"Order"},"Total":{"N":"12.5"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"U1"}},"SequenceNumber":"100000000000000000002","NewImage":{"PK":{"S":"U1"},"Type":{"S":"User"}}}}`,
	), nil); err != nil {
		log.Fatal(err)
	}
	l := p.Ledger()
	fmt.Println("written", l.Sinks["customers"].Written, "of", l.Source.Read)
	if err := l.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	// Output:
	// POST https://crm.example/orders/O1 total=12.50
	// written 1 of 2
}

// Order has the data that the function needs. UserId and OrderId are parts of the key of the item.
type Order struct {
	UserId, OrderId string //nolint:staticcheck // names of attributes
	Total           float64
}

// A function gets typed changes of the items of one entity.
func ExampleOn() {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
entities:
  Order: {key: {PK: 'USER#{UserId}#ORDER#{OrderId}'}}
sinks:
  nothing: {custom: {name: discard}}
`), os.LookupEnv)
	if err != nil {
		log.Fatal(err)
	}
	mail := sinks.On("Order", func(_ context.Context, c sinks.TypedChange[Order]) error {
		if c.Old == nil && c.New != nil {
			fmt.Printf("to %s: order %s of $%.2f is placed\n", c.New.UserId, c.New.OrderId, c.New.Total)
		}
		return nil
	})
	p, err := sinks.Assemble(context.Background(), cfg, sinks.PlanOnly(), mail)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(context.Background(), records(
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"USER#ann#ORDER#7"}},"SequenceNumber":"100000000000000000001","NewImage":{"PK":{"S":"USER#ann#ORDER#7"},"Total":{"N":"12.5"}}}}`,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"USER#ann"}},"SequenceNumber":"100000000000000000002","NewImage":{"PK":{"S":"USER#ann"}}}}`,
	), nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// to ann: order 7 of $12.50 is placed
}
