package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Numbers of orders, of their changes, and of the groups of the orders.
const (
	orders       = 40_000
	orderChanges = 100_000
	orderGroups  = 50
)

// BenchmarkAggregates compares aggregates with plain views. It reports the speed of a pipeline that counts 100,000
// changes in 50 groups of a local store, as a part of the speed with which the pipeline writes them as rows. The
// measurements alternate, so that a busy machine slows down all of them alike.
//
//	x-rows      a sum and a count
//	x-members   also a min, a max and a distinct
func BenchmarkAggregates(b *testing.B) {
	pages := orderPages(b)
	var rows, sums, members time.Duration
	for b.Loop() {
		rows += takes(b, pages, plainRows)
		sums += takes(b, pages, groupSums)
		members += takes(b, pages, groupMembers)
	}
	b.ReportMetric(rows.Seconds()/sums.Seconds(), "x-rows")
	b.ReportMetric(rows.Seconds()/members.Seconds(), "x-members")
	b.ReportMetric(float64(b.N)*orderChanges/sums.Seconds(), "changes/s")
}

// orderPages returns pages of undecoded records, as a source delivers them.
func orderPages(b *testing.B) [][]byte {
	image := func(i, version int) string {
		return fmt.Sprintf(`{"PK":{"S":"USER#%d"},"SK":{"S":"ORDER#%d"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"%d.%02d"},"CreatedAt":{"S":"2026-01-02T03:04:05Z"},"Group":{"S":"G%02d"},"Note":{"S":"%s"}}`,
			i%997, i, i%300, version*7%100, i%orderGroups, strings.Repeat("x", 200))
	}
	var pages [][]byte
	var page []byte
	for n := range orderChanges {
		i, version := n%orders, n/orders
		name, old := "INSERT", ""
		if version > 0 {
			name, old = "MODIFY", `,"OldImage":`+image(i, version-1)
		}
		page = fmt.Appendf(page, `{"eventID":"%d","eventName":%q,"eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/shop/stream/2026-01-01T00:00:00.000","dynamodb":{"ApproximateCreationDateTime":1700000000,"SequenceNumber":"%d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"USER#%d"},"SK":{"S":"ORDER#%d"}},"NewImage":%s%s}}`+"\n",
			n, name, int64(1e17)+int64(n), i%997, i, image(i, version), old)
		if n%1000 == 999 {
			pages, page = append(pages, page), nil
		}
	}
	return pages
}

// takes returns the time in which a pipeline with one sink and a new store writes all pages.
func takes(b *testing.B, pages [][]byte, sink func(*testing.B, *sqlite.Store) pipeline.Sink) time.Duration {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "views.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := pipeline.Route{Name: "sink", Sink: sink(b, store)}
	if a, ok := r.Sink.(*view.Aggregate); ok {
		r.Batch = a.Batch()
	}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{r}})
	if err != nil {
		b.Fatal(err)
	}
	d := record.NewDecoder(record.DecoderOptions{})
	next := 0
	start := time.Now()
	err = p.Run(b.Context(), pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if next == len(pages) {
			return nil, io.EOF
		}
		page := pages[next]
		next++
		return &pipeline.Page{Partition: "p", Position: pipeline.Position(fmt.Sprint(next)), Page: record.Page{Bytes: len(page)},
			Decode: func() (*record.Page, error) { return d.DecodeLines(page), nil }}, nil
	}), nil)
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	if l := p.Ledger().Sinks["sink"]; l.Written+l.Coalesced != orderChanges {
		b.Fatalf("of %d changes %d were written and %d coalesced", orderChanges, l.Written, l.Coalesced)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}

func key(b *testing.B, name, src string) view.Attribute {
	t, err := template.Parse(src, template.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return view.Attribute{Name: name, Template: t}
}

func plainRows(b *testing.B, store *sqlite.Store) pipeline.Sink {
	s, err := view.New(view.Options{
		Name: "rows", Pipeline: "shop", Table: "shop-views", Store: store,
		PK: key(b, "PK", "GROUP#{Group}"), SK: key(b, "SK", "{CreatedAt|date:2006-01-02}#{@key}"),
		Attributes: []view.Attribute{key(b, "total", "{Total}"), key(b, "customer", "{PK|after:USER#}"), key(b, "kind", "order")},
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func groupSums(b *testing.B, store *sqlite.Store) pipeline.Sink {
	return groupsOf(b, store, view.Value{Name: "revenue", Kind: "sum", Path: "Total"}, view.Value{Name: "orders", Kind: "count"})
}

func groupMembers(b *testing.B, store *sqlite.Store) pipeline.Sink {
	return groupsOf(b, store, view.Value{Name: "revenue", Kind: "sum", Path: "Total"}, view.Value{Name: "orders", Kind: "count"},
		view.Value{Name: "least", Kind: "min", Path: "Total"}, view.Value{Name: "most", Kind: "max", Path: "Total"}, view.Value{Name: "customers", Kind: "distinct", Path: "PK"})
}

func groupsOf(b *testing.B, store *sqlite.Store, values ...view.Value) pipeline.Sink {
	s, err := view.NewAggregate(view.AggregateOptions{
		Name: "groups", Pipeline: "shop", Table: "shop-views", Store: store, Values: values,
		PK: key(b, "PK", "GROUP#{Group}"), SK: key(b, "SK", "{CreatedAt|date:2006-01-02}"),
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
