// Package customers has the Go code that a pipeline runs in addition to its file.
package customers

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// order has the attributes of an item that the customer system needs.
type order struct {
	PK     string
	Status string
	Total  float64
}

// crm sends orders to a customer system. A real sink would make HTTP requests.
type crm struct{ url string }

// settings are the settings of the sink under `with` in the file.
type settings struct {
	URL string `yaml:"url"`
}

func newCRM(_ context.Context, s settings) (pipeline.Sink, error) {
	if s.URL == "" {
		return nil, errors.New("with.url is missing")
	}
	return crm{s.URL}, nil
}

var errNoTotal = errors.New("the order has no total")

// Write prints each order. The error names each order that fails. Such an order goes to dead letters. If its error were
// marked with pipeline.Transient, the order would be tried again instead.
func (s crm) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		o, err := unmarshal.Decode[order](ds[i].Change.New)
		switch {
		case err != nil:
			failed.Add(i, err)
		case o.Total == 0:
			failed.Add(i, errNoTotal)
		default:
			fmt.Printf("POST %s/%s: %s, %.2f\n", s.url, o.PK, o.Status, o.Total)
		}
	}
	return failed.OrNil()
}
