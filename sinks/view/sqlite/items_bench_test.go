package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// BenchmarkWrite writes 500 changes in each Write, in four kinds of views: rows guard themselves, items guard separate
// rows, items request no row, or all items request one row.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name, pk string
		when     string // Type of the items that have a row
	}{
		{"self", "EMAIL#{Email}#{@key}", "User"},
		{"by item", "EMAIL#{Email}", "User"},
		{"strangers", "EMAIL#{Email}", "Order"},
		{"one row", "LATEST", "User"},
	} {
		b.Run(c.name, func(b *testing.B) {
			parsed, err := template.Parse(c.pk, template.Options{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := view.New(view.Options{
				Name: "v", Pipeline: "p", Table: "t", Collision: view.KeepLast, PK: view.Attribute{Name: "PK", Template: parsed},
				When: pipeline.ItemConditionFunc(func(item item.Image) (bool, error) {
					v, _ := item.Get("Type")
					text, _ := v.Text()
					return text == c.when, nil
				}),
				Store: open(b, filepath.Join(b.TempDir(), "views.db"), sqlite.Options{}),
			})
			if err != nil {
				b.Fatal(err)
			}
			const call, items = 500, 20_000
			n := 0
			for b.Loop() {
				b.StopTimer()
				records := make([]sinktest.Record, call)
				for i := range records {
					n++
					id := fmt.Sprint(n * 7919 % items)
					records[i] = sinktest.Record{EventName: "MODIFY", Sequence: fmt.Sprintf("1%020d", n), Second: 1767323045, New: sinktest.Item{
						"PK": {"S": "USER#" + id}, "SK": {"S": "PROFILE"}, "Type": {"S": "User"}, "Email": {"S": id + "@example.com"},
					}}
					records[i].Old = records[i].New
				}
				stream, err := sinktest.Build(records...)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				ds := make([]pipeline.Delivery, call)
				for i, change := range stream.Changes {
					ds[i].Change = change
					if err := s.Plan(&ds[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Write(b.Context(), ds); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}
