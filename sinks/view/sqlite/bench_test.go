package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// BenchmarkApply writes calls of 500 rows over 100,000, new ones first.
func BenchmarkApply(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "views.db"), sqlite.Options{})
	columns := []view.Column{
		column(b, "total", `{"N":"12345.50"}`), column(b, "customer", `{"S":"01HZXK5Z8T3V9"}`), column(b, "kind", `{"S":"order"}`),
	}
	const call, items = 500, 100_000
	ms := make([]view.Mutation, call)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range ms {
			n++
			ms[i] = put(fmt.Sprintf("2026-01-02#USER%%23%d,ORDER%%23%d", n*7919%items%1000, n*7919%items), n, columns...)
		}
		apply(b, s, target, ms...)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
