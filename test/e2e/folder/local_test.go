package folder

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// every is a pipeline with a store of each kind.
const every = `version: 1
name: shop
source: {table: shop, polling: {max_idle: 50ms}}
detect: {paid: {attribute: Status, to: paid}}
sinks:
  orders: {view: {table: orders, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}
  found: {search: {index: found}}
  history: {archive: {bucket: history, prefix: changes/, roll: {age: 100ms}}}
  told: {notify: {events: [paid], queue: told}}
`

// Every pair of commands runs at the same time on one --local folder. Each command does its work, or is refused with a
// hint and does its work afterwards. Together they leave the results of both.
func TestPairs_Local(t *testing.T) {
	streams, shard, _ := streamOf(t, 100, 130)
	env := signed(streams)
	cfg, file := parse(t, every)
	base := filepath.Join(t.TempDir(), "base")
	records := t.TempDir()
	first, second, third := filepath.Join(records, "first.jsonl"), filepath.Join(records, "second.jsonl"), filepath.Join(records, "third.jsonl")
	lines(t, first, 0, 10)
	lines(t, second, 10, 20)
	lines(t, third, 200, 230)
	on := []string{"-c", file, "--local"}
	with := func(name string, more ...string) []string { return append(append([]string{name}, on...), more...) }
	run(t, env, []int{4}, with("replay", base, "--notify", first)...)
	run(t, env, []int{4}, with("replay", base, "--notify", second)...) // makes a second object
	deliverable := []int{301, 302, 304}
	putLetters(t, cfg, local.Dir(base).DeadLetters(), deliverable...)

	commands := func(out string) []command {
		return []command{
			{name: "consume", args: with("consume", out, "--health", "off", "--exit-when-idle", "100ms"), codes: []int{0, 4}, adds: [2]int{100, 130}},
			{name: "replay", args: with("replay", out, "--notify", third), codes: []int{4}, adds: [2]int{200, 230}},
			{name: "redrive", args: with("redrive", out), codes: []int{4}, takes: deliverable},
			{name: "redrive --discard", args: with("redrive", out, "--discard", "--key", "I3"), codes: []int{0}, takes: []int{3}},
			{name: "redrive --list", args: with("redrive", out, "--list"), codes: []int{0}},
			{name: "compact", args: []string{"compact", local.Dir(out).Archive("history")}, codes: []int{0}},
			{name: "query", args: []string{"query", "--local", out}, codes: []int{0}},
			{name: "query dead", args: []string{"query", "dead", "--local", out}, codes: []int{0}},
			{name: "query archive", args: []string{"query", "archive", "--local", out}, codes: []int{0}},
			{name: "query events", args: []string{"query", "events", "--local", out}, codes: []int{0}},
			{name: "status", args: with("status", out, "--no-watch"), codes: []int{0, 6}},
			{name: "leases list", args: append([]string{"leases"}, with("list", out)...), codes: []int{0}},
			{name: "leases reset", args: append([]string{"leases"}, with("reset", out, shard, "--to", "trim_horizon")...), codes: []int{0}},
			{name: "why", args: with("why", out, "--key", "I1", first), codes: []int{0, 1}},
		}
	}
	pairs(t, base, commands, func(t *testing.T, out string, a, b command) {
		together(t, env, a, b)
		if diff := cmp.Diff(expected([2]int{0, 20}, deliverable, a, b), look(t, local.Dir(out))); diff != "" {
			t.Errorf("what they leave (-want +got):\n%s", diff)
		}
	})
}

// held has the contents of a folder, by the keys of items.
type held struct{ Rows, Documents, Archived, Events, Letters []string }

// expected returns the contents that commands leave in a folder that had these items, and these letters that can be
// delivered.
func expected(base [2]int, deliverable []int, commands ...command) held {
	var h held
	add := func(from, to int) {
		h.Rows = sorted(h.Rows, items(from, to, good))
		h.Events = sorted(h.Events, items(from, to, good))
		h.Documents = sorted(h.Documents, items(from, to, all))
		h.Archived = sorted(h.Archived, items(from, to, all))
		h.Letters = sorted(h.Letters, items(from, to, bad))
	}
	add(base[0], base[1])
	is := func(ns []int) func(int) bool { return func(n int) bool { return slices.Contains(ns, n) } }
	h.Letters = sorted(h.Letters, items(300, 400, is(deliverable)))
	for _, c := range commands {
		add(c.adds[0], c.adds[1])
	}
	for _, c := range commands {
		for _, key := range items(0, 400, is(c.takes)) {
			if i, found := slices.BinarySearch(h.Letters, key); found {
				h.Letters = slices.Delete(h.Letters, i, i+1)
			}
			if slices.Contains(items(300, 400, all), key) {
				h.Rows = sorted(h.Rows, []string{key})
			}
		}
	}
	return h
}

// look reads the contents of a folder.
func look(t *testing.T, dir local.Dir) (h held) {
	t.Helper()
	views, err := sqlite.Open(t.Context(), dir.Views(), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer views.Close()
	for row, err := range views.Rows(t.Context(), view.Table{Name: "orders", PK: "PK", SK: "SK"}, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		sk, _ := row.Item.Get("SK")
		key, _ := sk.Text()
		h.Rows = append(h.Rows, key)
	}
	index, err := searchsqlite.OpenReader(t.Context(), dir.Views())
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	for d, err := range index.Documents(t.Context(), "found") {
		if err != nil {
			t.Fatal(err)
		}
		h.Documents = append(h.Documents, d.ID)
	}
	store, err := archivedir.New(archivedir.Options{Dir: dir.Archive("history")})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		h.Archived = append(h.Archived, string(e.Key))
	}
	for line, err := range jsonl.Read(dir.Events("told")) {
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Subject string }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, event.Subject)
	}
	for _, keys := range [][]string{h.Rows, h.Documents, h.Archived, h.Events} {
		slices.Sort(keys)
	}
	h.Letters = letters(t, dir.DeadLetters())
	return h
}
