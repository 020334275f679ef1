package item

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// TestImage_Get checks that an attribute is found by its name, whatever the other names are: of the same length, with
// the same beginning, escaped, long, or far from their values.
func TestImage_Get(t *testing.T) {
	long := strings.Repeat("n", 255)
	written := map[string]string{ // spelling in the JSON by name
		"a": `"a"`, "b": `"b"`, "ab": `"ab"`, "ac": `"ac"`, "bb": `"bb"`, "é": `"é"`, `"`: `"\""`, "c": `"\u0063"`, "ad": `"a\u0064"`,
		long: `"` + long + `"`, long + "m": `"` + long + `m"`, long + "n": `"` + long + `n"`,
	}
	names := slices.Sorted(maps.Keys(written))
	rapid.Check(t, func(t *rapid.T) {
		there := map[string]string{}
		var members []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID[string]).Draw(t, "names") {
			there[name] = rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "value")
			gap := strings.Repeat(" ", rapid.SampledFrom([]int{0, 0, 0, 1, 300}).Draw(t, "gap"))
			members = append(members, written[name]+":"+gap+`{"S":"`+there[name]+`"}`)
		}
		m, err := Parse([]byte("{" + strings.Join(members, ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(names, "", "x", "aa", long[1:]) {
			want, is := there[name]
			v, ok := m.Get(name)
			if text, _ := v.Text(); ok != is || text != want {
				t.Fatalf("%.10q (%d bytes): %q, %v; want %q, %v", name, len(name), text, ok, want, is)
			}
		}
	})
}

// TestStringValue_Raw checks that a text is written to JSON unchanged if it holds nothing that must be escaped.
func TestStringValue_Raw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "bcdefghi", "é", "\"", "\\", "\n", "\x7f", "\xff", "\xc3"})).Draw(t, "text"), "")
		raw := string(ddbjson.AppendRaw(nil, text))
		if ddbjson.IsRaw(text) != (raw == text) {
			t.Fatalf("%q: isRaw says %v, and it is written %q", text, ddbjson.IsRaw(text), raw)
		}
		if got, _ := StringValue(text).Text(); utf8.ValidString(text) && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
