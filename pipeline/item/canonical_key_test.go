package item_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ table, keys, want string }{
		{"", `{"PK":{"S":"USER#1"},"SK":{"S":"a,b!c%+="}}`, "USER%231,a%2Cb%21c%25%2B%3D"},
		{"", `{"SK":{"S":"second"},"PK":{"S":"first"}}`, "first,second"},
		{"", `{"id":{"N":"-1.50e2"}}`, "+-150"},
		{"", `{"id":{"S":"-150"}}`, "-150"},
		{"", `{"id":{"B":"+\/8="}}`, "=-_8"},
		{"", `{"id":{"S":"\u00e9"}}`, "%C3%A9"},
		{"shop-1", `{"id":{"S":"a"}}`, "shop-1!a"},
	} {
		keys := pipelineImage(t, tt.keys)
		k, err := item.MakeKey(tt.table, keys)
		if err != nil || string(k) != tt.want {
			t.Errorf("%s: got %s %v, want %s", tt.keys, k, err, tt.want)
			continue
		}
		table, values, err := k.Decode()
		if err != nil || table != tt.table || len(values) != keys.Len() {
			t.Errorf("%s: %q %v %v", k, table, values, err)
			continue
		}
		names := []string{}
		for name := range keys.All() {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			if v, _ := keys.Get(name); !v.Equal(values[i]) {
				t.Errorf("%s: value %d is %v, want %v", k, i, values[i], v)
			}
		}
	}
	for _, keys := range []string{`{}`, `{"a":{"S":""}}`, `{"a":{"B":""}}`, `{"a":{"BOOL":true}}`, `{"a":{"S":"x"},"b":{"M":{}}}`, `{"a":{"S":"x"},"b":{"S":"x"},"c":{"S":"x"}}`} {
		if k, err := item.MakeKey("", pipelineImage(t, keys)); err == nil || k != "" {
			t.Errorf("%s makes a key: %q", keys, k)
		}
	}
	for _, k := range []item.Key{"", ",", "a,", ",b", "a,b,c", "!a", "t!", "a!b!c", "%", "%zz", "%41", "%ff", "%FF", "+", "+1.0", "+x", "+1e2", "=", "=A", "=A+", "=AA==", "=AA\n", "a b"} {
		if table, values, err := k.Decode(); err == nil {
			t.Errorf("%q decodes as %q %v", k, table, values)
		}
	}
}

// Keys are injective: two keys are the same text only if the items have the same key attributes and table.
func TestKeysAreInjective(t *testing.T) {
	part := func(t *rapid.T) item.Value {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return item.StringValue(rapid.StringOfN(rapid.SampledFrom([]rune("a+=!,%-_.1é")), 1, 4, -1).Draw(t, "S"))
		case 1:
			d, err := decimal.Parse(rapid.StringMatching(`-?[0-9]{1,2}(\.[0-9])?`).Draw(t, "N"))
			if err != nil {
				t.Fatal(err)
			}
			return item.NumberValue(d)
		}
		return item.BinaryValue(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0xff}), 1, 3).Draw(t, "B"))
	}
	it := func(t *rapid.T) (string, item.Image) {
		b := part(t).AppendDynamoDBJSON([]byte(`{"a":`))
		if rapid.Bool().Draw(t, "sort key") {
			b = part(t).AppendDynamoDBJSON(append(b, `,"b":`...))
		}
		m, err := item.Parse(append(b, '}'))
		if err != nil {
			t.Fatal(err)
		}
		return rapid.SampledFrom([]string{"", "t", "t.2"}).Draw(t, "table"), m
	}
	rapid.Check(t, func(t *rapid.T) {
		ta, a := it(t)
		tb, b := it(t)
		ka, err := item.MakeKey(ta, a)
		if err != nil {
			t.Fatal(err)
		}
		kb, err := item.MakeKey(tb, b)
		if err != nil {
			t.Fatal(err)
		}
		if (ka == kb) != (ta == tb && a.Equal(b)) {
			t.Fatalf("%q of %s, %q of %s", ka, a.Value(), kb, b.Value())
		}
		if table, values, err := ka.Decode(); err != nil || table != ta || len(values) != a.Len() {
			t.Fatalf("%q: %v", ka, err)
		}
	})
}
