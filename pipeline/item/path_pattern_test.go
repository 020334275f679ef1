package item_test

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

func TestParsePattern(t *testing.T) {
	for text, root := range map[string]string{
		"Status": "Status", "Address.City": "Address", "Address.**": "Address", "Lines[*].qty": "Lines", "Lines[10].qty": "Lines",
		`["first-name"]`: "first-name", `["a.b"].c`: "a.b", `a["x\"y"][0]`: "a", "*": "", "**": "", "a.*.b": "a", "*.b": "", "a[0][*]": "a", "_1.b2": "_1",
	} {
		p, err := item.ParsePattern(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, ok := p.Root(); got != root || ok != (root != "") || p.String() != text || p.IsZero() {
			t.Errorf("%s: root %q, text %q", text, got, p)
		}
	}
}

func TestParsePattern_Errors(t *testing.T) {
	for text, column := range map[string]int{
		"": 1, ".a": 1, "a.": 3, "a..b": 3, "a b": 2, "a.**.b": 5, "**.a": 3, "a[": 3, "a[x]": 3, "a[0": 4, "a[-1]": 3, "[0]": 1, "[*]": 1,
		`["a`: 2, `[""]`: 2, `["a"`: 5, "a***": 2, "a.***": 5, "1a": 1, "a[99999999999999999999]": 3, "first-name": 6, "a]": 2,
	} {
		p, err := item.ParsePattern(text)
		e, ok := errors.AsType[*item.PathError](err)
		if !ok || e.Column != column || !p.IsZero() {
			t.Errorf("%q: %v, want column %d", text, err, column)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"Status", "Lines[*].qty", "Address.**", `["a-b"].*[0]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := item.ParsePattern(s)
		if err == nil && (p.String() != s || p.IsZero()) {
			t.Fatalf("%q became %q", s, p)
		}
		if e, ok := errors.AsType[*item.PathError](err); err != nil && (!ok || e.Column < 1 || e.Column > len(s)+1) {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
