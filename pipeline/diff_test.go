package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
)

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     []string
	}{
		{"", "", nil},
		{`{}`, `{}`, nil},
		{`{"a":1}`, `{"a":1.0}`, nil},
		{`{"a":1,"b":2}`, `{"b":3,"c":4}`, []string{"a: 1 -> -", "b: 2 -> 3", "c: - -> 4"}},
		{"", `{"b":{"x":1},"a":1}`, []string{"a: - -> 1", `b: - -> {"x":1}`}},
		{`{"a":1}`, "", []string{"a: 1 -> -"}},
		{`{"m":{"b":{"x":1,"y":2},"a":1}}`, `{"m":{"b":{"x":1,"y":3},"a":2}}`, []string{"m.a: 1 -> 2", "m.b.y: 2 -> 3"}},
		{`{"l":[1,{"q":2},3]}`, `{"l":[1,{"q":5}]}`, []string{"l[1].q: 2 -> 5", "l[2]: 3 -> -"}},
		{`{"s":{"SS":["a"]}}`, `{"s":{"SS":["b","a"]}}`, []string{`s: ["a"] -> ["b","a"]`}},
		{`{"m":{"a":1}}`, `{"m":[1]}`, []string{`m: {"a":1} -> [1]`}},
		{`{"m":{}}`, `{}`, []string{`m: {} -> -`}},
		{`{"first-name":{"a.b":1}}`, `{"first-name":{"a.b":2}}`, []string{`["first-name"]["a.b"]: 1 -> 2`}},
		{`{"a":1,"aws:rep:updatetime":1}`, `{"a":1,"aws:rep:updatetime":2}`, nil}, // Fact 15
	} {
		got := []string{}
		for _, d := range pipeline.Diff(plainItem(t, tt.old), plainItem(t, tt.new)) {
			got = append(got, fmt.Sprintf("%s: %s -> %s", d.Path, valueText(d.Old), valueText(d.New)))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s to %s:\n%q, want\n%q", tt.old, tt.new, got, tt.want)
		}
	}
}

// What Diff lists is what a reader finds at those paths, and it lists nothing
// only for images that are equal.
func TestDiff_PathsLeadToTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() pipeline.Image {
			m, err := sdkvalue.Image(drawItem(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		a, b := draw(), draw()
		diff := pipeline.Diff(a, b)
		if (len(diff) == 0) != a.Equal(b) {
			t.Fatalf("%v and %v: %d differences", a.Value(), b.Value(), len(diff))
		}
		if len(pipeline.Diff(a, a)) != 0 {
			t.Fatalf("%v differs from itself", a.Value())
		}
		for _, d := range diff {
			old, _ := a.Lookup(d.Path)
			new, _ := b.Lookup(d.Path)
			if !old.Equal(d.Old) || !new.Equal(d.New) || d.Old.Equal(d.New) || d.Old.Kind() != old.Kind() || d.New.Kind() != new.Kind() {
				t.Fatalf("%s: %v -> %v, but the images have %v and %v", d.Path, d.Old, d.New, old, new)
			}
			pattern, err := pipeline.ParsePattern(d.Path)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := pipeline.Changed(pattern).Match(&pipeline.Change{Op: pipeline.Modify, Old: a, New: b})
			if err != nil || !changed {
				t.Fatalf("%s is in the diff, but is not changed: %v", d.Path, err)
			}
		}
	})
}
