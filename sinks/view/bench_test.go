package view_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// BenchmarkPlan plans a move, which is the most expensive change (two row keys and three attributes), and a change
// whose row stays.
func BenchmarkPlan(b *testing.B) {
	unconditional := byStatus(b, nil)
	unconditional.When = nil
	for name, test := range map[string]struct {
		sink   *view.Sink
		status string // after the change
		ops    int
	}{
		"Move": {newSink(b, byStatus(b, nil)), "Status=shipped", 2},
		"Stay": {newSink(b, unconditional), "Status=paid", 1},
	} {
		c := changes(b, sinktest.Record{
			EventName: "MODIFY", Old: order("Status=paid", "Total=#10.5"), New: order(test.status, "Total=#11.5"),
		})[0]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := pipeline.Delivery{Change: c}
				if err := test.sink.Plan(&d); err != nil || len(d.Ops) != test.ops {
					b.Fatal(err, d.Ops)
				}
			}
		})
	}
}
