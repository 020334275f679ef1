package item_test

import (
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// PathText writes names as a path that leads through them.
func TestPathText(t *testing.T) {
	for want, names := range map[string][]string{
		"Price":                 {"Price"},
		"Address.City":          {"Address", "City"},
		`["a.b"]["."].c["d\""]`: {"a.b", ".", "c", `d"`},
	} {
		text := item.PathText(names)
		p, err := item.ParsePath(text)
		if err != nil || text != want {
			t.Errorf("%q is %s (%v), want %s", names, text, err, want)
			continue
		}
		if again, _ := p.Names(); !slices.Equal(again, names) {
			t.Errorf("%s leads through %q, want %q", text, again, names)
		}
	}
}
