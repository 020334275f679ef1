package generate_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/generate"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

var update = flag.Bool("update", false, "write the golden file")

// golden is the expected output. It is compiled with these tests.
const golden = "golden_test.go"

const file = `
version: 1
name: shop
source: {tables: [shop, counters]}
attributes: {No: N, Type: S}
entities:
  User: {key: {PK: 'USER#{UserId}', SK: 'USER#{UserId}'}}
  Counter: {key: {No: '{Number}', SK: '{Any}'}, when: 'item.Type == "Counter"'}
  Order:
    key: {PK: 'USER#{UserId}', SK: 'ORDER#{Date}#{OrderId}'}
    unique: OrderId
    attributes:
      Status: S
      Total: N
      Items: [{sku: S, qty: N, extra: M}]
      Date: N
      user-id: S
      user_id: B
      tags: SS
      ok: BOOL
      1st: L
      'a,b': S
      Address: {Street: S, Geo: {lat: N}}
sinks: {nothing: {custom: {name: discard}}}
`

func TestSource(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	got, err := generate.Source(cfg, "generate_test")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the source differs from %s, which -update writes:\n%s", golden, got)
	}
}

// A field that is left out imports nothing: a Go file with an unused import does not compile.
func TestSource_ImportsWhatItUses(t *testing.T) {
	const file = `
version: 1
name: shop
source: {table: shop}
entities: {Order: {key: {PK: 'ORDER#{OrderId}'}, attributes: {'a,b': N, '-': [S]}}}
sinks: {nothing: {custom: {name: discard}}}
`
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := generate.Source(cfg, "shop"); err != nil || strings.Contains(string(got), "import") {
		t.Errorf("%v:\n%s", err, got)
	}
}

// An item decodes into the struct that was generated for it.
func TestSource_Decodes(t *testing.T) {
	m, err := item.Parse([]byte(`{"PK":{"S":"USER#ann"},"SK":{"S":"ORDER#2026-01-02#7"},"Date":{"N":"20260102"},
		"Total":{"N":"12345678901234567890.5"},"Items":{"L":[{"M":{"sku":{"S":"tea"},"qty":{"N":"2"},"extra":{"M":{"gift":{"BOOL":true}}}}}]},
		"user-id":{"S":"a"},"user_id":{"B":"AQ=="},"tags":{"SS":["x","y"]},"ok":{"BOOL":true},"1st":{"L":[{"S":"z"}]},
		"Address":{"M":{"Street":{"S":"Main"},"Geo":{"M":{"lat":{"N":"1.5"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := unmarshal.Decode[Order](m)
	if err != nil {
		t.Fatal(err)
	}
	gift, _ := o.Items[0].Extra["gift"].Bool()
	got := fmt.Sprintf("%v %v %s %v %s %v %v %v %s %v %v", o.Total, o.Date, o.Items[0].Sku, o.Items[0].Qty, o.UserId2, o.UserId3,
		o.Tags, o.Ok, o.Address.Street, o.Address.Geo.Lat, gift)
	if want := "12345678901234567890.5 20260102 tea 2 a [1] [x y] true Main 1.5 true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
