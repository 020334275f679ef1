package item_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
)

func FuzzParseImage(f *testing.F) {
	f.Add([]byte(`{"S":{"S":"x"},"N":{"N":"-1.50E+3"},"B":{"B":"AAE="},"T":{"BOOL":true},"0":{"NULL":true},"M":{"M":{"a":{"S":"\ud83e\udd8a"}}},"L":{"L":[{"N":"1"}]},"SS":{"SS":["a","b"]},"NS":{"NS":["1","2"]},"BS":{"BS":["AA==","AQ=="]}}`))
	f.Add([]byte(" { } "))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := item.Parse(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatal("broken JSON passed")
		}
		pipelinetest.CheckImage(t, m)
		if v, err := item.ParseValue(m.Value().AppendDynamoDBJSON(nil)); err != nil || !v.Equal(m.Value()) {
			t.Fatalf("the image as a value: %v", err)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"Status", "Address.Lines[0].sku", `["first-name"].Tags[2]`, `a["b\"c"]`, "a..b", "[0]", "a[", `["`} {
		f.Add(s)
	}
	m, err := item.Parse([]byte(`{"a":{"M":{"b":{"L":[{"S":"x"}]}}},"first-name":{"S":"y"}}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, found := m.Lookup(s)
		p, err := item.ParsePath(s)
		if err != nil {
			if bad, ok := errors.AsType[*item.PathError](err); !ok || bad.Column < 1 || bad.Column > len(s)+1 || found {
				t.Fatalf("%v, found: %v", err, found)
			}
			return
		}
		if at, ok := m.At(p); ok != found || !at.Equal(v) || p.String() != s || p.IsZero() || p.Root() == "" {
			t.Fatalf("At and Lookup differ for %q", s)
		}
	})
}
