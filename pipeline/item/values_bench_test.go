package item_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

const usualOld = `{"PK":{"S":"USER#000001"},"SK":{"S":"ORDER#2026-11-21#000001"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"129.95"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"1795251600"},"Paid":{"BOOL":true},"Note":{"S":"leave at the back door, ring twice"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"Main Street 5"},"City":{"S":"Zürich"},"Zip":{"S":"8001"}}},"Tags":{"SS":["gift","express"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-00001"},"qty":{"N":"2"}}},{"M":{"sku":{"S":"SKU-77"},"qty":{"N":"1"}}}]}}`
const usualNew = `{"PK":{"S":"USER#000001"},"SK":{"S":"ORDER#2026-11-21#000001"},"Type":{"S":"Order"},"Status":{"S":"shipped"},"Total":{"N":"139.95"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"1795251600"},"Paid":{"BOOL":true},"Note":{"S":"leave at the back door, ring three times"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"Main Street 5"},"City":{"S":"Zürich"},"Zip":{"S":"8002"}}},"Tags":{"SS":["gift","express"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-00001"},"qty":{"N":"2"}}},{"M":{"sku":{"S":"SKU-77"},"qty":{"N":"1"}}}]}}`

type usualOrder struct {
	PK, SK    string
	Type      string
	Status    string
	Total     float64
	Currency  string
	CreatedAt int64
	Paid      bool
	Note      string
	Coupon    *string
	Address   struct{ Street, City, Zip string }
	Tags      []string
	Lines     []struct {
		SKU string `dynamodbav:"sku"`
		Qty int    `dynamodbav:"qty"`
	}
}

func images(tb testing.TB) (a, b item.Image) {
	var err error
	if a, err = item.Parse([]byte(usualOld)); err != nil {
		tb.Fatal(err)
	}
	if b, err = item.Parse([]byte(usualNew)); err != nil {
		tb.Fatal(err)
	}
	return a, b
}

// contest runs both sides in turns and reports the ratio of their shortest times.
func contest(b *testing.B, ours, theirs func()) {
	b.ReportAllocs()
	const n = 200
	o, t := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		for range n {
			ours()
		}
		between := time.Now()
		for range n {
			theirs()
		}
		o, t = min(o, between.Sub(start)), min(t, time.Since(between))
	}
	b.ReportMetric(float64(o)/n, "ours-ns")
	b.ReportMetric(float64(t)/n, "theirs-ns")
	b.ReportMetric(float64(t)/float64(o), "x")
	b.ReportMetric(testing.AllocsPerRun(100, ours), "ours-allocs")
	b.ReportMetric(testing.AllocsPerRun(100, theirs), "theirs-allocs")
}

func BenchmarkUsualDecode(b *testing.B) {
	old, _ := images(b)
	item := sdkvalue.Item(old)
	contest(b, func() {
		if _, err := unmarshal.Decode[usualOrder](old); err != nil {
			b.Fatal(err)
		}
	}, func() {
		var o usualOrder
		if err := attributevalue.UnmarshalMap(item, &o); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkUsualDiff(b *testing.B) {
	old, new := images(b)
	oldItem, newItem := sdkvalue.Item(old), sdkvalue.Item(new)
	contest(b, func() {
		n := 0
		for range item.Differences(old, new) {
			n++
		}
		if n != 4 {
			b.Fatal(n)
		}
	}, func() {
		n := 0
		for name, v := range oldItem {
			if !reflect.DeepEqual(v, newItem[name]) {
				n++
			}
		}
		for name := range newItem {
			if _, ok := oldItem[name]; !ok {
				n++
			}
		}
		if n != 4 {
			b.Fatal(n)
		}
	})
}

func BenchmarkUsualJSON(b *testing.B) {
	old, _ := images(b)
	item := sdkvalue.Item(old)
	contest(b, func() {
		if doc := old.AppendJSON(make([]byte, 0, 1024)); len(doc) < 100 {
			b.Fatal(doc)
		}
	}, func() {
		var m map[string]any
		if err := attributevalue.UnmarshalMap(item, &m); err != nil {
			b.Fatal(err)
		}
		if doc, err := json.Marshal(m); err != nil || len(doc) < 100 {
			b.Fatal(doc)
		}
	})
}

// Decode allocates only for the texts, the set and the lines. It returns the struct by value.
func TestDecodeAllocations(t *testing.T) {
	old, _ := images(t)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := unmarshal.Decode[usualOrder](old); err != nil {
			t.Fatal(err)
		}
	}); n != 3 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendJSONDoesNotAllocate(t *testing.T) {
	old, _ := images(t)
	room := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		room = old.AppendJSONForDoubles(old.AppendJSON(room[:0])[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !json.Valid(room) {
		t.Errorf("%s", room)
	}
}
