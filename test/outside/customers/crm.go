// Package customers is the Go code that a pipeline runs beside what its file says.
package customers

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// order is what the customer system wants to know of an item.
type order struct {
	PK     string
	Status string
	Total  float64
}

// crm tells a customer system about orders. It replaces one that makes HTTP requests.
type crm struct{ url string }

// settings are the sink's `with` in the file.
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

// Write prints each order. One that fails is named in the error: marked with pipeline.Transient it would be tried
// again, and so it goes to dead letters.
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
