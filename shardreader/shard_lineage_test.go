package shardreader

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ids(shards []Shard) string {
	var s []string
	for _, sh := range shards {
		s = append(s, sh.ID)
	}
	return strings.Join(s, " ")
}

// Fact 5: a child shard is read only after its parent's last record is
// acknowledged, and always from TRIM_HORIZON.
func TestFact5_ParentsBeforeChildren(t *testing.T) {
	var l lineage
	l.add([]Shard{
		{ID: "d", Parent: "b"}, {ID: "e", Parent: "b"}, // children come first in this listing
		{ID: "a", Last: "9"}, {ID: "b", Parent: "a", Last: "19"},
		{ID: "c", Parent: "gone", Last: "9"},
	})
	steps := []struct{ finish, want string }{
		{"", "a c"}, {"c", ""}, {"a", "b"}, {"b", "d e"}, {"d", ""}, {"e", ""},
	}
	for _, s := range steps {
		if s.finish != "" {
			l.markFinished(s.finish)
		}
		if got := ids(l.readyShards()); got != s.want {
			t.Errorf("after %q: ready are %q, want %q", s.finish, got, s.want)
		}
	}
}

// Fact 6: a parent may have one child or more. A parent listed as open beside its
// child counts as closed.
func TestFact6_ParentListedAsOpen(t *testing.T) {
	var l lineage
	l.add([]Shard{{ID: "a"}, {ID: "b", Parent: "a"}})
	if l.mayGrow("a") || !l.mayGrow("b") {
		t.Errorf("open: a %v, b %v; want false, true", l.mayGrow("a"), l.mayGrow("b"))
	}
	if got := ids(l.readyShards()); got != "a" {
		t.Errorf("ready are %q, want a alone", got)
	}
	// A second listing adds what is new, and keeps what was begun.
	l.add([]Shard{{ID: "a", Last: "9"}, {ID: "b", Parent: "a", Last: "19"}, {ID: "c", Parent: "b"}})
	if l.mayGrow("b") || ids(l.readyShards()) != "" {
		t.Errorf("b is open or something started before a was done")
	}
	l.markFinished("a")
	if got := ids(l.readyShards()); got != "b" {
		t.Errorf("ready are %q, want b", got)
	}
}

// However shards are listed and end, those start whose parent is done or unknown, each once, and
// all of them have by the end.
func TestLineage_StartsEachShardOnceBehindItsParent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "shards")
		all := make([]Shard, n)
		for i := range all {
			all[i].ID = fmt.Sprint(i)
			if parent := rapid.IntRange(-1, i-1).Draw(t, "parent"); parent >= 0 {
				all[i].Parent = fmt.Sprint(parent)
			}
		}
		// A listing may lack the youngest, and has any order; a later one has all.
		first := rapid.Permutation(all[:rapid.IntRange(0, n).Draw(t, "listed at first")]).Draw(t, "listing")
		var l lineage
		l.add(first)
		started, done := make(map[string]bool), make(map[string]bool)
		var running []string
		start := func() {
			for _, s := range l.readyShards() {
				if started[s.ID] || s.Parent != "" && !done[s.Parent] {
					t.Fatalf("shard %s starts twice, or before its parent %q", s.ID, s.Parent)
				}
				started[s.ID] = true
				running = append(running, s.ID)
			}
		}
		for start(); len(running) > 0; start() {
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			done[running[i]] = true
			l.markFinished(running[i])
			running = append(running[:i], running[i+1:]...)
			if rapid.Bool().Draw(t, "listed again") {
				l.add(all)
			}
		}
		l.add(all)
		for start(); len(running) > 0; start() {
			done[running[0]] = true
			l.markFinished(running[0])
			running = running[1:]
		}
		if len(started) != n {
			t.Fatalf("%d of %d shards were started", len(started), n)
		}
	})
}
