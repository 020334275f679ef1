package shardreader

import (
	"strings"
	"testing"
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
			l.finish(s.finish)
		}
		if got := ids(l.ready()); got != s.want {
			t.Errorf("after %q: ready are %q, want %q", s.finish, got, s.want)
		}
	}
}

// Fact 6: a parent may have one child or more. A parent listed as open beside its
// child counts as closed.
func TestFact6_ParentListedAsOpen(t *testing.T) {
	var l lineage
	l.add([]Shard{{ID: "a"}, {ID: "b", Parent: "a"}})
	if l.open("a") || !l.open("b") {
		t.Errorf("open: a %v, b %v; want false, true", l.open("a"), l.open("b"))
	}
	if got := ids(l.ready()); got != "a" {
		t.Errorf("ready are %q, want a alone", got)
	}
	// A second listing adds what is new, and keeps what was begun.
	l.add([]Shard{{ID: "a", Last: "9"}, {ID: "b", Parent: "a", Last: "19"}, {ID: "c", Parent: "b"}})
	if l.open("b") || ids(l.ready()) != "" {
		t.Errorf("b is open or something started before a was done")
	}
	l.finish("a")
	if got := ids(l.ready()); got != "b" {
		t.Errorf("ready are %q, want b", got)
	}
}
