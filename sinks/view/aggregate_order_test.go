package view_test

import (
	"slices"
	"testing"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// The configuration may change the order of the values. A contribution that was stored under another order is
// subtracted from the values that it was added to.
func TestAggregate_ValuesInAnotherOrder(t *testing.T) {
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total=#5", "Note=x")},
		sinktest.Record{EventName: "MODIFY", Old: order("Status=paid", "Total=#5", "Note=x"), New: order("Status=paid", "Total=#7", "Note=y")},
	)
	one, two := newGroupMemory(), newGroupMemory()
	options := revenue(t, one)
	a := newAggregate(t, options)
	contribute(t, a, cs[0])
	options.Values = slices.Clone(options.Values)
	slices.Reverse(options.Values)
	contribute(t, newAggregate(t, options), cs[1])

	contribute(t, newAggregate(t, revenue(t, two)), cs...)
	wantRows(t, one, map[string]string{"REVENUE%23paid,ALL": `notes=1 orders=1 revenue=7`})
	wantRows(t, two, one.show())
}
