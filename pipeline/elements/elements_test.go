package elements

import (
	"cmp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

func spec(t *testing.T, path, by string, most int) *Spec {
	t.Helper()
	p, err := item.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Spec{Path: p, By: by, Max: most}
}

func TestOf(t *testing.T) {
	m, err := item.Parse([]byte(`{
		"Lines":{"L":[{"M":{"sku":{"S":"b"},"qty":{"N":"2.0"}}},{"M":{"sku":{"S":"a"},"qty":{"N":"2"}}},{"S":"text"}]},
		"Tags":{"SS":["x#y","z"]},"Sizes":{"NS":["1.50","2"]},"Blobs":{"BS":["AQ=="]},
		"Prices":{"M":{"eur":{"N":"1"},"us d":{"M":{"code":{"S":"usd"}}}}},
		"None":{"NULL":true},"Text":{"S":"a"},"Empty":{"L":[]},
		"Mixed":{"L":[{"M":{"id":{"S":"1"}}},{"M":{"id":{"N":"1.0"}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, by string
		most     int
		want     string // identities of the elements, or a part of the error
	}{
		{"Lines", "", 0, "0 1 2"},
		{"Lines", "sku", 0, "b a -"},
		{"Lines", "qty", 0, "the elements 0 and 1 of Lines have the same identity (qty)"},
		{"Lines", "", 3, "0 1 2"},
		{"Lines", "", 2, "Lines has 3 elements, and 2 are the most"},
		{"Tags", "", 0, "x#y z"},
		{"Tags", "sku", 0, "Tags is a set"},
		{"Sizes", "", 0, "1.5 2"},
		{"Blobs", "", 0, "AQ"},
		{"Prices", "", 0, "eur us d"},
		{"Prices", "code", 0, "- usd"},
		{"None", "", 0, ""},
		{"Nothing", "", 0, ""},
		{"Empty", "", 0, ""},
		{"Text", "", 0, "Text is of the type S, and not a list, a set or a map"},
		{"Mixed", "id", 0, "the elements 0 and 1 of Mixed have the same identity (id)"},
		{"Prices", "[0]", 0, "- -"},
	} {
		all, err := spec(t, tt.path, tt.by, tt.most).Of(nil, m)
		for i, e := range all {
			if e.Position != i {
				t.Errorf("%s by %q: the element %d is at %d", tt.path, tt.by, i, e.Position)
			}
		}
		got := identities(all)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s by %q: %q, want %q", tt.path, tt.by, got, tt.want)
		}
	}
}

// identities returns the identities of elements, with - for an empty one.
func identities(all []Element) string {
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = cmp.Or(e.ID, "-")
	}
	return strings.Join(texts, " ")
}

func TestPatterns(t *testing.T) {
	m, err := item.Parse([]byte(`{"Lines":{"L":[]},"Prices":{"M":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, by, pattern, id string }{
		{"Lines", "sku", "Lines[*]", "Lines[*].sku"},
		{"Lines", "[0]", "Lines[*]", "Lines[*][0]"},
		{"Lines", "", "Lines[*]", "Lines[*]"},
		{"Prices", "a.b", "Prices.*", "Prices.*.a.b"},
	} {
		s := spec(t, tt.path, tt.by, 0)
		if pattern := s.Pattern(m); pattern != tt.pattern || s.IDPath(pattern) != tt.id {
			t.Errorf("%s by %q: %s and %s", tt.path, tt.by, pattern, s.IDPath(pattern))
		}
	}
}
