package state_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// The texts of numbers sort as the numbers do, and come back.
func TestSortable_Numbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimals().Draw(t, "a"), decimals().Draw(t, "b")
		x, _ := state.Sortable(pipeline.NumberValue(a))
		y, _ := state.Sortable(pipeline.NumberValue(b))
		if strings.Compare(x, y) != a.Cmp(b) {
			t.Fatalf("%s and %s sort as %q and %q", a, b, x, y)
		}
		v, err := state.Unsorted(x)
		d, _ := v.Number()
		if err != nil || d.Cmp(a) != 0 {
			t.Fatalf("%s came back as %s (%v)", a, d, err)
		}
	})
}

func TestSortable_Kinds(t *testing.T) {
	values := []pipeline.Value{
		pipeline.StringValue(""), pipeline.StringValue("a"), pipeline.StringValue("b"),
		pipeline.NumberValue(pipeline.DecimalOf(-2)), pipeline.NumberValue(pipeline.DecimalOf(0)), pipeline.NumberValue(pipeline.DecimalOf(1)),
		pipeline.BinaryValue(nil), pipeline.BinaryValue([]byte{0}), pipeline.BinaryValue([]byte{0, 1}), pipeline.BinaryValue([]byte{255}),
		pipeline.BoolValue(false), pipeline.BoolValue(true),
	}
	last := ""
	for i, v := range values {
		text, ok := state.Sortable(v)
		if !ok || i > 0 && text <= last {
			t.Errorf("%s %s sorts as %q, behind %q", v.Kind(), v.AppendJSON(nil), text, last)
		}
		back, err := state.Unsorted(text)
		if err != nil || !back.Equal(v) {
			t.Errorf("%q came back as %s (%v)", text, back.AppendJSON(nil), err)
		}
		last = text
	}
	if text, ok := state.Sortable(pipeline.NullValue()); ok {
		t.Errorf("NULL sorts as %q", text)
	}
	for _, text := range []string{"", "x", "b", "b2", "b20", "b2xyzq", "b0", "cx"} {
		if v, err := state.Unsorted(text); err == nil {
			t.Errorf("%q is read as %s", text, v.AppendJSON(nil))
		}
	}
}
