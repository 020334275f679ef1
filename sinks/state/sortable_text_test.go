package state_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// The sortable texts of numbers have the same order as the numbers and can be read back.
func TestSortable_Numbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimals().Draw(t, "a"), decimals().Draw(t, "b")
		x, _ := state.SortableText(item.NumberValue(a))
		y, _ := state.SortableText(item.NumberValue(b))
		if strings.Compare(x, y) != a.Cmp(b) {
			t.Fatalf("%s and %s sort as %q and %q", a, b, x, y)
		}
		v, err := state.ParseSortable(x)
		d, _ := v.Number()
		if err != nil || d.Cmp(a) != 0 {
			t.Fatalf("%s came back as %s (%v)", a, d, err)
		}
	})
}

func TestSortable_Kinds(t *testing.T) {
	values := []item.Value{
		item.StringValue(""), item.StringValue("a"), item.StringValue("b"),
		item.NumberValue(decimal.Of(-2)), item.NumberValue(decimal.Of(0)), item.NumberValue(decimal.Of(1)),
		item.BinaryValue(nil), item.BinaryValue([]byte{0}), item.BinaryValue([]byte{0, 1}), item.BinaryValue([]byte{255}),
		item.BoolValue(false), item.BoolValue(true),
	}
	last := ""
	for i, v := range values {
		text, ok := state.SortableText(v)
		if !ok || i > 0 && text <= last {
			t.Errorf("%s %s sorts as %q, behind %q", v.Kind(), v.AppendJSON(nil), text, last)
		}
		back, err := state.ParseSortable(text)
		if err != nil || !back.Equal(v) {
			t.Errorf("%q came back as %s (%v)", text, back.AppendJSON(nil), err)
		}
		last = text
	}
	if text, ok := state.SortableText(item.NullValue()); ok {
		t.Errorf("NULL sorts as %q", text)
	}
	for _, text := range []string{"", "x", "b", "b2", "b20", "b2xyzq", "b0", "cx"} {
		if v, err := state.ParseSortable(text); err == nil {
			t.Errorf("%q is read as %s", text, v.AppendJSON(nil))
		}
	}
}
