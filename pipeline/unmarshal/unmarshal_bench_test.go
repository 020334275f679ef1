package unmarshal_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

type benchOrder struct {
	PK, SK    string
	Type      string
	Status    string
	Total     float64
	Count     int
	Paid      bool
	CreatedAt time.Time
	Tags      []string `dynamodbav:"Tags,stringset"`
	Address   struct{ Street, City, Zip string }
	Lines     []struct {
		Sku   string `dynamodbav:"sku"`
		Qty   int    `dynamodbav:"qty"`
		Price float64
	}
}

const benchItem = `{"PK":"USER#1","SK":"ORDER#2024-01-02#17","Type":"Order","Status":"paid","Total":119.9,"Count":3,"Paid":true,
	"CreatedAt":"2024-01-02T03:04:05Z","Tags":{"SS":["gift","express"]},"Address":{"Street":"Main 1","City":"Graz","Zip":"8010"},
	"Lines":[{"sku":"a-1","qty":1,"Price":10},{"sku":"b-2","qty":2,"Price":54.95}],"Ignored":"x","expiresAt":1700000000}`

// BenchmarkDecode compares Decode with attributevalue, which starts from SDK values that exist already.
func BenchmarkDecode(b *testing.B) {
	m := pipelinetest.PlainItem(b, benchItem)
	b.Run("pipeline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := unmarshal.Decode[benchOrder](m); err != nil {
				b.Fatal(err)
			}
		}
	})
	item := sdkvalue.Item(m)
	b.Run("attributevalue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var o benchOrder
			if err := attributevalue.UnmarshalMap(item, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
}
