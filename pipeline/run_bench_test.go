package pipeline

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// counting is a sink that counts.
type counting struct{ n atomic.Int64 }

var (
	_ Sink       = (*counting)(nil)
	_ KeyOrderer = (*counting)(nil)
)

func (c *counting) Write(_ context.Context, ds []Delivery) error {
	c.n.Add(int64(len(ds)))
	return nil
}

func (c *counting) KeepsKeyOrder() bool { return true }

// runRecords takes at least n records through a pipeline of three counting sinks
// and tells how many it took.
func runRecords(tb testing.TB, n int, page func(i int) *Page) int64 {
	var sinks [3]counting
	o := Options{Name: "bench"}
	for i := range sinks {
		o.Routes = append(o.Routes, Route{Name: fmt.Sprint("s", i), Sink: &sinks[i]})
	}
	p, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	read, i := 0, 0
	err = p.Run(tb.Context(), SourceFunc(func(context.Context) (*Page, error) {
		if read >= n {
			return nil, io.EOF
		}
		i++
		read += 100
		return page(i), nil
	}), CommitterFunc(func(context.Context, string, Position) error { return nil }))
	if err != nil {
		tb.Fatal(err)
	}
	l := p.Ledger()
	if err := l.Check(); err != nil {
		tb.Fatal(err)
	}
	for i := range sinks {
		if got := sinks[i].n.Load(); got != l.Source.Read {
			tb.Fatalf("sink %d counted %d of %d", i, got, l.Source.Read)
		}
	}
	return l.Source.Read
}

// hundred is a page of 100 changes of as many keys.
func hundred() *Page {
	counts := map[string]int{}
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("PK%04d", i))
	}
	return pageOf(counts, "p", 1, keys...)
}

// BenchmarkRun is what the runner itself costs a record, and what it allocates.
func BenchmarkRun(b *testing.B) {
	page := hundred()
	b.ReportAllocs()
	n := runRecords(b, b.N, func(int) *Page { p := *page; return &p })
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

func onCores(n int, f func()) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	start := time.Now()
	f()
	return time.Since(start)
}
