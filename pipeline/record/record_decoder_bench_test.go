package record_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// eventOf returns a Lambda event of n records of about 1.5 KB. Each is an order in NEW_AND_OLD_IMAGES with 13
// attributes, one of them changed.
func eventOf(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"Records":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		image := func(status string) string {
			return fmt.Sprintf(`{"PK":{"S":"USER#%06d"},"SK":{"S":"ORDER#2026-11-21#%06d"},"Type":{"S":"Order"},"Status":{"S":"%s"},"Total":{"N":"129.95"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"1795251600"},"Paid":{"BOOL":true},"Note":{"S":"leave at the back door, ring twice"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"Main Street 5"},"City":{"S":"Zürich"},"Zip":{"S":"8001"}}},"Tags":{"SS":["gift","express"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-%05d"},"qty":{"N":"2"}}},{"M":{"sku":{"S":"SKU-77"},"qty":{"N":"1"}}}]}}`,
				i%50, i, status, i)
		}
		fmt.Fprintf(&b, `{"eventID":"%032x","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":1795251660,"Keys":{"PK":{"S":"USER#%06d"},"SK":{"S":"ORDER#2026-11-21#%06d"}},"NewImage":%s,"OldImage":%s,"SequenceNumber":"%027d","SizeBytes":812,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000"}`,
			i, i%50, i, image("shipped"), image("paid"), 100000+i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// pass decodes an event and runs every change through a TTL filter and a detector of one transition.
type pass struct {
	decoder    *record.Decoder
	filter     pipeline.Filter
	transition pipeline.Detector
	events     []pipeline.Event
}

func newPass(tb testing.TB) *pass {
	status, err := item.ParsePath("Status")
	if err != nil {
		tb.Fatal(err)
	}
	return &pass{
		decoder:    record.NewDecoder(record.DecoderOptions{}),
		filter:     rules.Drop("ttl_deletes", rules.TTLDeletes()),
		transition: rules.Transition(status, "*", "shipped"),
	}
}

func (p *pass) run(tb testing.TB, b []byte) {
	page, err := p.decoder.Decode(b)
	if err != nil || len(page.Errors) > 0 {
		tb.Fatal(err, page.Errors)
	}
	p.events = p.events[:0]
	for i := range page.Changes {
		c := &page.Changes[i]
		if verdict, err := p.filter.Check(c); err != nil || verdict.Drop {
			tb.Fatal(verdict, err)
		}
		if p.events, err = p.transition.Detect(p.events, c); err != nil {
			tb.Fatal(err)
		}
	}
	if len(p.events) != len(page.Changes) {
		tb.Fatalf("%d events of %d changes", len(p.events), len(page.Changes))
	}
}

// BenchmarkDecoder measures one pass over an event of 100 records. The benchmarks in test/bench measure other
// libraries.
func BenchmarkDecoder(b *testing.B) {
	event, p := eventOf(100), newPass(b)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	shortest := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		p.run(b, event)
		shortest = min(shortest, time.Since(start))
	}
	b.ReportMetric(float64(shortest)/100, "ns/record")
}

// TestDecoderAllocations checks that a page costs a few allocations, and a record none.
func TestDecoderAllocations(t *testing.T) {
	event, p := eventOf(100), newPass(t)
	p.run(t, event)
	if got := leastAllocs(func() { p.run(t, event) }); got > 16 {
		t.Errorf("%v allocations for a page of 100 records, want at most 16", got)
	}
}

// leastAllocs returns the allocations of f in the best of several runs. Under the race detector a pool drops a reader
// now and then, and a new reader costs more than a page.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(5, f)
	for range 9 {
		least = min(least, testing.AllocsPerRun(5, f))
	}
	return least
}
