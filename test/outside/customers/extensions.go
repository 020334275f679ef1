package customers

import (
	"context"
	"log/slog"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
	"github.com/tablewake/tablewake/sinks"
)

// Extensions returns the Go code that tablewake.yaml names, and a function for the orders.
func Extensions() []sinks.Extension {
	return []sinks.Extension{
		sinks.With("crm", newCRM),
		sinks.WithFunc("isLarge", isLarge),
		sinks.WithFilter("isReal", isReal, sinks.KeysOnly()),
		sinks.On("Order", logOrder),
	}
}

// isReal drops items of tests. It filters above a view, so it reads only the key of an item.
func isReal(c *record.Change) (bool, error) {
	pk, _ := c.Keys.Get("PK")
	text, _ := pk.Text()
	return !strings.HasPrefix(text, "TEST"), nil
}

// isLarge detects orders of more than 1,000.
func isLarge(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if !c.New.Exists() {
		return dst, nil
	}
	o, err := unmarshal.Decode[order](c.New)
	if err == nil && o.Total > 1000 {
		dst = append(dst, pipeline.Event{})
	}
	return dst, err
}

func logOrder(ctx context.Context, c sinks.TypedChange[struct{ OrderId string }]) error {
	if c.New != nil {
		slog.InfoContext(ctx, "an order was written", slog.String("order", c.New.OrderId))
	}
	return nil
}
