package config_test

import (
	"strings"
	"testing"
)

const hashed = `version: 1
name: p
source: {table: t}
filters:
  - drop: ttl_deletes
  - drop: {key_prefix: {PK: 'TMP#'}}
sinks:
  a:
    view: {table: v, key: {PK: '{@key}', SK: x}, attributes: {b: '{B}', c: '{C}'}}
  b:
    search: {index: i}
  c:
    custom: {name: c, with: {url: u, n: 1}}
`

// Two files that write the same have one hash; two that do not have two.
func TestHash(t *testing.T) {
	want := parse(t, hashed).Hash()
	if len(want) != 32 {
		t.Fatalf("hash is %q, want 32 hex digits", want)
	}
	same := [][2]string{
		{"name: p", "name: 'p' # comment"},
		{"table: v,", "table: v, rate: 5, concurrency: 2, batch: {count: 5},"},
		{"attributes: {b: '{B}', c: '{C}'}", "attributes: {c: '{C}', b: \"{B}\"}"},
		{"search: {index: i}", "search: {index: i, mode: exact, id: key}"},
		{"table: v,", "table: v, tombstones: in_place,"},
		{"source:", "dead_letters: {dir: d}\nsource:"},
		{"{table: t}", "{table: t, emulator: dynamodb-local}"},
		{"version: 1\nname: p\n", "name: p\nversion: 1\n"},
	}
	for _, r := range same {
		if got := parse(t, strings.Replace(hashed, r[0], r[1], 1)).Hash(); got != want {
			t.Errorf("%q for %q changes the hash", r[1], r[0])
		}
	}
	other := [][2]string{
		{"name: p", "name: q"},
		{"table: t", "table: u"},
		{"'TMP#'", "'TEMP#'"},
		{"  - drop: ttl_deletes\n", ""},
		{"{PK: '{@key}', SK: x}", "{SK: x, PK: '{@key}'}"},
		{"b: '{B}'", "b: '{B?}'"},
		{"{index: i}", "{index: j}"},
		{"n: 1}", "n: 2}"},
		{"n: 1}", "n: '1'}"},
		{"  c:\n", "  d:\n"},
		{"table: v,", "table: v, when: 'item.A == 1',"},
	}
	for _, r := range other {
		if got := parse(t, strings.Replace(hashed, r[0], r[1], 1)).Hash(); got == want {
			t.Errorf("%q for %q does not change the hash", r[1], r[0])
		}
	}
}
