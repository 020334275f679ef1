package view_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// BenchmarkPlan plans a move. A move is the most expensive change: two row keys and three attributes.
func BenchmarkPlan(b *testing.B) {
	s := newSink(b, byStatus(b, nil))
	c := changes(b, sinktest.Record{
		EventName: "MODIFY", Old: order("Status=paid", "Total=#10.5"), New: order("Status=shipped", "Total=#10.5"),
	})[0]
	b.ReportAllocs()
	for b.Loop() {
		d := pipeline.Delivery{Change: c}
		if err := s.Plan(&d); err != nil || len(d.Ops) != 2 {
			b.Fatal(err, d.Ops)
		}
	}
}
