package config_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// A view whose tombstones are apart has no place for them without a state table: a folder of
// embedded stores has one of its own, and real servers have not.
func TestLocalOnly(t *testing.T) {
	for _, c := range []struct{ state, sink, want string }{
		{"", "view: {table: v, key: {PK: '{@key}'}}",
			"x.yaml:5:13: sinks.s.view: the tombstones of its rows are in the state table, and the file names none; add state: {table: NAME}, or write tombstones: in_place, for readers that leave tombstones out"},
		{"", "view: {table: v, key: {PK: '{PK|esc}', SK: '{SK|esc}'}, tombstones: apart}",
			"x.yaml:5:75: sinks.s.view.tombstones: the tombstones of its rows are in the state table, and the file names none; add state: {table: NAME}, or write tombstones: in_place, for readers that leave tombstones out"},
		{"state: {table: s}\n", "view: {table: v, key: {PK: '{@key}'}}", ""},
		{"", "view: {table: v, key: {PK: '{@key}'}, tombstones: in_place}", ""},
		{"", "search: {index: i}", ""},
	} {
		file := "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  s: {" + strings.TrimSpace(c.sink) + "}\n" + c.state
		cfg, err := config.Parse("x.yaml", []byte(file), getenv)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.LocalOnly.Error(); got != c.want {
			t.Errorf("%s%s:\ngot  %s\nwant %s", c.state, c.sink, got, c.want)
		}
	}
}
