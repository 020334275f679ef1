package config_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// A view with tombstones apart needs a state table on real servers, since only a folder of embedded stores has its own.
// An S3 bucket cannot have a name of one letter.
func TestLocalOnly(t *testing.T) {
	for _, c := range []struct{ state, sink, want string }{
		{"", "view: {table: rows, key: {PK: '{@key}'}}",
			"x.yaml:5:13: sinks.s.view: the tombstones of its rows are in the state table, and the file names none; add state: {table: NAME}, or write tombstones: in_place, for readers that leave tombstones out"},
		{"", "view: {table: rows, key: {PK: '{PK|esc}', SK: '{SK|esc}'}, tombstones: apart}",
			"x.yaml:5:78: sinks.s.view.tombstones: the tombstones of its rows are in the state table, and the file names none; add state: {table: NAME}, or write tombstones: in_place, for readers that leave tombstones out"},
		{"state: {table: state}\n", "view: {table: rows, key: {PK: '{@key}'}}", ""},
		{"", "view: {table: rows, key: {PK: '{@key}'}, tombstones: in_place}", ""},
		{"", "view: {table: rows, key: {PK: '{Email}'}, tombstones: in_place}",
			"x.yaml:5:61: sinks.s.view.tombstones: its rows are guarded by item, or may be, in the state table, and the file names none; add state: {table: NAME}, or put {@key} into the row's key and write tombstones: in_place, for readers that leave tombstones out"},
		{"", "archive: {bucket: b}", "x.yaml:5:25: sinks.s.archive.bucket: an S3 bucket's name has 3 characters or more, and 'b' has 1; give it a longer name"},
		{"", "archive: {bucket: b-b}", ""},
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
