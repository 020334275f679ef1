package pipeline

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// counting is a sink that counts its deliveries.
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

// runRecords runs at least n records through a pipeline of three counting sinks and returns how many records it read.
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

// hundred returns a page of 100 changes, each of another key.
func hundred() *Page {
	counts := map[string]int{}
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("PK%04d", i))
	}
	return pageOf(counts, "p", 1, keys...)
}

// BenchmarkRun measures the time and the allocations of the runner itself for each record.
func BenchmarkRun(b *testing.B) {
	page := hundred()
	b.ReportAllocs()
	n := runRecords(b, b.N, func(int) *Page { p := *page; return &p })
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// lines returns the input of a page: 100 records of about 1.5 KB, as JSON lines.
func lines() []byte {
	var b []byte
	for i := range 100 {
		b = fmt.Appendf(b, `{"eventID":"%032d","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",`+
			`"eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/shop/stream/2026-01-01T00:00:00.000",`+
			`"dynamodb":{"ApproximateCreationDateTime":1700000000,"SequenceNumber":"%d","SizeBytes":900,"StreamViewType":"NEW_AND_OLD_IMAGES",`+
			`"Keys":{"PK":{"S":"ORDER#%d"}}`, i, 100000000000000000+int64(i), i)
		for _, image := range []string{"OldImage", "NewImage"} {
			b = fmt.Appendf(b, `,%q:{"PK":{"S":"ORDER#%d"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"19.90"},"Tags":{"SS":["a","b","c"]},`+
				`"Lines":{"L":[{"M":{"sku":{"S":"A-1"},"qty":{"N":"2"},"name":{"S":"a thing with a longer name"}}},{"M":{"sku":{"S":"B-2"},"qty":{"N":"1"}}}]},`+
				`"Address":{"M":{"Street":{"S":"1 Long Street"},"City":{"S":"Springfield"}}},"Note":{"S":"%0200d"}}`, image, i, 0)
		}
		b = append(b, "}}\n"...)
	}
	return b
}

// decoded runs n records through a pipeline whose workers decode them.
func decoded(tb testing.TB, n int) int64 {
	d := record.NewDecoder(record.DecoderOptions{})
	input := lines()
	return runRecords(tb, n, func(i int) *Page {
		return &Page{Partition: "p", Position: Position(strconv.Itoa(i)), Page: record.Page{Bytes: len(input)},
			Decode: func() (*record.Page, error) { return d.DecodeLines(input), nil }}
	})
}

// BenchmarkRunDecoded measures a whole pipeline with counting sinks: decode, plan, write and commit. x-2cores is how
// much faster two cores are than one. The GC percentage is that of the commands.
func BenchmarkRunDecoded(b *testing.B) {
	b.ReportAllocs()
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var took [3]time.Duration
	for cores := 1; cores <= 2; cores++ {
		runtime.GOMAXPROCS(cores)
		start := time.Now()
		decoded(b, b.N)
		took[cores] = time.Since(start)
	}
	b.ReportMetric(float64(took[1])/float64(took[2]), "x-2cores")
	b.ReportMetric(float64(b.N)/took[2].Seconds(), "records/s")
}
