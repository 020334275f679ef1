package audit_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// BenchmarkExpected measures how long the expected entries of one item take.
func BenchmarkExpected(b *testing.B) {
	w := newWorld(b, shop)
	fill(w)
	c := w.snapshot("P1")
	for _, name := range names {
		s := w.open(audit.Options{})[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.ExpectedEntries(c, func(audit.Entry) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStored(b *testing.B) {
	w := newWorld(b, shop)
	var lines []string
	for i := range 2000 {
		lines = append(lines, w.change("P"+string(rune('0'+i%10))+string(rune('0'+i/10%10))+string(rune('0'+i/100%10))+string(rune('0'+i/1000)), product(i%3, "N", i)))
	}
	w.send(lines...)
	for _, name := range names {
		s := w.open(audit.Options{})[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for _, err := range s.StoredEntries(b.Context(), state.Listing{}) {
					if n++; err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/entry")
		})
	}
}
