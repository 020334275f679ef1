package search_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
)

// model returns the value that a document must have for v. It uses the getters of v.
func model(v item.Value) any {
	switch v.Kind() {
	case item.KindM:
		m := map[string]any{}
		for name, e := range v.Members() {
			m[name] = model(e)
		}
		return m
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		l := []any{}
		for _, e := range v.Elements() {
			l = append(l, model(e))
		}
		return l
	case item.KindN:
		d, _ := v.Number()
		text := d.String()
		digits, _ := d.Digits()
		if strings.Contains(text, ".") && len(digits) > 15 {
			return text
		}
		return json.Number(text)
	case item.KindBOOL:
		b, _ := v.Bool()
		return b
	case item.KindS:
		s, _ := v.Text()
		return s
	case item.KindB:
		var s string
		_ = json.Unmarshal(v.AppendJSON(nil), &s)
		return s
	default:
		return nil
	}
}

// FuzzDocument compares documents with models that are made from the getters of the item. The sink copies parts of the
// item into the document where it can.
func FuzzDocument(f *testing.F) {
	for _, item := range []string{
		`{}`, `{"a":{"S":"x\"\u00e9 é"},"b\n":{"N":"1E+3"},"c":{"N":"0.1234567890123456789"},"_tw":{"S":"mine"}}`,
		` { "a" : { "M" : { "x" : { "L" : [ { "N" : "-0.0" } , {"NULL":true}, {"BOOL":false} ] } } } , "n":{"NS":["1.50","123456789012345678"]}}`,
		`{"b":{"B":"AAE="},"bs":{"BS":["AAE=","\/w=="]},"s":{"SS":["a","b"]},"m":{"M":{}},"l":{"L":[]},"d":{"N":"123456789012345.5"}}`,
	} {
		f.Add([]byte(item))
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		m, err := item.Parse(image)
		if err != nil {
			return
		}
		want := model(m.Value()).(map[string]any)
		for _, fields := range []search.Fields{{}, {Exclude: []string{"nothing.of.that.name"}}} {
			c := changeOf(t, "INSERT", "", "")
			c.New = m
			d := pipeline.Delivery{Change: c}
			if err := newSink(t, search.Options{Index: parse(t, "docs"), Fields: fields}).Plan(&d); err != nil {
				t.Fatal(err)
			}
			decoder := json.NewDecoder(bytes.NewReader(d.Ops[0].(*search.Mutation).Doc))
			decoder.UseNumber()
			var got map[string]any
			if err := decoder.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got["_tw"].(map[string]any)["by"] != "shop" {
				t.Fatalf("_tw is %v", got["_tw"])
			}
			delete(got, "_tw")
			delete(want, "_tw")
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\n%v, want\n%v", image, got, want)
			}
		}
	})
}
