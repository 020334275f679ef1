package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// BenchmarkApply writes 500 rows in each call. The first 100,000 writes put new rows, and later writes replace them.
func BenchmarkApply(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "views.db"), sqlite.Options{})
	columns := []state.Column{
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

// BenchmarkContribute reads and replaces the contributions of 500 items in each call, of 100,000 items in 50 groups. It
// shows the cost of a count and a sum in comparison with the rows of BenchmarkApply.
func BenchmarkContribute(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "views.db"), sqlite.Options{})
	const call, items, groups = 500, 100_000, 50
	t := view.Target{Table: view.Table{Name: "sums", PK: "PK", SK: "SK"}, View: "revenue", Pipeline: "shop"}
	var rows [groups]state.Row
	for i := range rows {
		var err error
		if rows[i], err = state.MakeRow(item.StringValue("REVENUE#EUR"), item.StringValue(fmt.Sprintf("2026-01-%02d", i))); err != nil {
			b.Fatal(err)
		}
	}
	one := state.NumberOf(decimal.Of(1))
	amount, err := state.ParseNumber("12345.5")
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]item.Key, call)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		w := state.GroupWrite{Items: make([]state.ContributionWrite, call), Groups: make([]state.GroupChange, groups)}
		for i := range keys {
			keys[i] = item.Key(fmt.Sprintf("USER%%23%d,ORDER%%23%d", (n+i)*7919%items%1000, (n+i)*7919%items))
		}
		was, err := s.Contributions(b.Context(), t.State(), keys)
		if err != nil {
			b.Fatal(err)
		}
		for i := range keys {
			n++
			version := put("", n).Version
			w.Items[i] = state.ContributionWrite{Source: keys[i], Expected: was[i], Next: state.Contribution{
				Version: version, Since: version, Shares: []state.Share{{Group: rows[n%groups], Values: []string{"12345.5", ""}}},
			}}
		}
		for i := range rows {
			w.Groups[i] = state.GroupChange{Row: rows[i], Shares: 1, Version: put("", n).Version, Counts: []state.Increment{{Name: "orders", Amount: one}}, Sums: []state.Increment{{Name: "revenue", Amount: amount}}}
		}
		rs, err := s.Contribute(b.Context(), t, []state.GroupWrite{w})
		if err != nil || rs[0] != (view.Result{}) {
			b.Fatal(rs, err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "items/s")
}
