package item_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
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
		// Fact 15: aws:rep:* attributes are not compared
		{`{"a":1,"aws:rep:updatetime":1}`, `{"a":1,"aws:rep:updatetime":2}`, nil},
	} {
		got := []string{}
		for _, d := range item.Diff(pipelinetest.PlainItem(t, tt.old), pipelinetest.PlainItem(t, tt.new)) {
			got = append(got, fmt.Sprintf("%s: %s -> %s", d.Path, pipelinetest.ValueText(d.Old), pipelinetest.ValueText(d.New)))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s to %s:\n%q, want\n%q", tt.old, tt.new, got, tt.want)
		}
	}
}

// A reader finds the values that Diff lists at their paths. Diff lists nothing only if the images are equal.
func TestDiff_PathsLeadToTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() item.Image {
			m, err := sdkvalue.Image(pipelinetest.DrawItem(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		a, b := draw(), draw()
		diff := item.Diff(a, b)
		if (len(diff) == 0) != a.Equal(b) {
			t.Fatalf("%v and %v: %d differences", a.Value(), b.Value(), len(diff))
		}
		if len(item.Diff(a, a)) != 0 {
			t.Fatalf("%v differs from itself", a.Value())
		}
		for _, d := range diff {
			old, _ := a.Lookup(d.Path)
			new, _ := b.Lookup(d.Path)
			if !old.Equal(d.Old) || !new.Equal(d.New) || d.Old.Equal(d.New) || d.Old.Kind() != old.Kind() || d.New.Kind() != new.Kind() {
				t.Fatalf("%s: %v -> %v, but the images have %v and %v", d.Path, d.Old, d.New, old, new)
			}
			pattern, err := item.ParsePattern(d.Path)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := rules.Changed(pattern).Match(&record.Change{Op: record.Modify, Old: a, New: b})
			if err != nil || !changed {
				t.Fatalf("%s is in the diff, but is not changed: %v", d.Path, err)
			}
		}
	})
}

// meaning returns a function that returns the same text for two values if and only if they are equal. The text comes
// from the canonical form of the whole value, so it does not depend on the comparisons under test.
func meaning(t interface{ Fatal(...any) }) func(item.Value) string {
	p, err := item.ParsePattern("**")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mask.New([]item.Pattern{p}, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	return func(v item.Value) string {
		text, _ := m.Value("", v).Text()
		return text
	}
}

// checkDifferences checks Equal, Differences and Diff of two images against the meaning of each attribute.
func checkDifferences(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, a, b item.Image) {
	of := meaning(t)
	want := map[string]bool{}
	for _, m := range []item.Image{a, b} {
		for name := range m.All() {
			old, _ := a.Get(name)
			new, _ := b.Get(name)
			if same := of(old) == of(new); same != old.Equal(new) || same != new.Equal(old) {
				t.Fatalf("%v and %v: Equal is %v", old, new, !same)
			} else if !same && !strings.HasPrefix(name, "aws:rep:") {
				want[name] = true
			}
		}
	}
	if same := of(a.Value()) == of(b.Value()); same != a.Equal(b) || same != b.Equal(a) || same != a.Value().Equal(b.Value()) {
		t.Fatalf("%v and %v: Equal is %v", a.Value(), b.Value(), !same)
	}
	for name, d := range item.Differences(a, b) {
		if !want[name] {
			t.Fatalf("%v and %v: a difference at %q", a.Value(), b.Value(), name)
		}
		// a path cannot lead to the name ""
		if p, err := item.ParsePath(d.Path); name != "" && (err != nil || p.Root() != name) {
			t.Fatalf("%q has the path %s: %v", name, d.Path, err)
		}
		old, _ := a.Get(name)
		new, _ := b.Get(name)
		if of(old) != of(d.Old) || of(new) != of(d.New) {
			t.Fatalf("%s: %v and %v, but the images have %v and %v", d.Path, d.Old, d.New, old, new)
		}
		inside := slices.ContainsFunc(item.Diff(a, b), func(e item.Difference) bool { return strings.HasPrefix(e.Path, d.Path) })
		if !inside {
			t.Fatalf("nothing differs in %v and %v", d.Old, d.New)
		}
		delete(want, name)
	}
	for _, e := range item.Diff(a, b) {
		if of(e.Old) == of(e.New) {
			t.Fatalf("%s is a difference and equal: %v", e.Path, e.Old)
		}
	}
	if len(want) > 0 {
		t.Fatalf("%v and %v: no difference at %v", a.Value(), b.Value(), want)
	}
}

// Differences are right for images in every spelling of JSON, if some bytes of one image are changed.
func TestDifferences_ByMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(pipelinetest.DynamoJSON{T: t}.Item(rapid.IntRange(0, 20).Draw(t, "attributes"), 3))
		changed := slices.Clone(doc)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(1, len(changed)-1).Draw(t, "at")
			bytes := rapid.SampledFrom([]string{"a", "b", "0", "1", ".0", "e0", `\u0061`, " ", `\"`, `\\`, "é", "S", ""}).Draw(t, "bytes")
			next := slices.Replace(slices.Clone(changed), at, min(at+rapid.IntRange(0, 2).Draw(t, "cut"), len(changed)), []byte(bytes)...)
			if _, err := item.Parse(slices.Clone(next)); err == nil {
				changed = next
			}
		}
		a, err := item.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		b, err := item.Parse(changed)
		if err != nil {
			t.Fatal(err)
		}
		checkDifferences(t, a, b)
	})
}

// Differences are right for images whose attributes are in another order, are many, or are partly missing.
func TestDifferences_InAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{3, 13, 20, 200}).Draw(t, "attributes")
		draw := func(label string) item.Image {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if rapid.Bool().Draw(t, label+" shuffled") {
				order = rapid.Permutation(order).Draw(t, label)
			}
			var b strings.Builder
			for _, i := range order[rapid.IntRange(0, n/4).Draw(t, label+" missing"):] {
				fmt.Fprintf(&b, `,"a%d":{"N":"%d"}`, i, i+rapid.IntRange(0, 9).Draw(t, "changed")/9)
			}
			m, err := item.Parse([]byte("{" + strings.TrimPrefix(b.String(), ",") + "}"))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		checkDifferences(t, draw("old"), draw("new"))
	})
}

func FuzzDifferences(f *testing.F) {
	for _, doc := range []string{
		usualOld, usualNew, `{"a":{"M":{"S":{"S":"x"},"b":{"N":"1.0"}}}}`, `{"a":{"M":{"S":{"S":"\u0078"},"b":{"N":"1"}}}}`,
		`{"a":{"SS":["a","b"]},"l":{"L":[{"NS":["1","2"]},{"M":{}}]}}`, `{"a":{"SS":["b","a"]},"l":{"L":[{"NS":["2.0","1"]},{"M":{}}]}}`,
	} {
		f.Add([]byte(doc), []byte(usualOld))
		f.Add([]byte(doc), []byte(doc))
	}
	f.Fuzz(func(t *testing.T, old, new []byte) {
		a, err := item.Parse(old)
		if err != nil {
			return
		}
		b, err := item.Parse(new)
		if err != nil {
			return
		}
		checkDifferences(t, a, b)
	})
}

func TestDifferencesDoNotAllocate(t *testing.T) {
	old, new := images(t)
	nested, err := item.Parse([]byte(strings.NewReplacer(`"N":"2"`, `"N":"3"`, "Zürich", `Z\u00fcrich`, `"gift","express"`, `"express","gift"`, `"Status":`, `"State":`).Replace(usualNew)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		old, new item.Image
		want     []string
	}{
		{old, new, []string{"Status", "Total", "Note", "Address"}},
		{old, old, nil},
		{new, nested, []string{"Status", "Lines", "State"}},
	} {
		paths := make([]string, 0, 8)
		if n := testing.AllocsPerRun(100, func() {
			paths = paths[:0]
			for _, d := range item.Differences(tt.old, tt.new) {
				paths = append(paths, d.Path)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", tt.want, n)
		}
		if !slices.Equal(paths, tt.want) {
			t.Errorf("%v, want %v", paths, tt.want)
		}
	}
}
