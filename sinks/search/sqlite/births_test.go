package sqlite_test

import (
	"reflect"
	"testing"

	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/state"
)

func TestBirths(t *testing.T) {
	searchtest.Births(t, open(t, t.TempDir()), "docs")
}

// Inspect counts only the documents of the output's sink: those in the named index, or in all indexes whose names the
// template can make.
func TestOutput_Inspect(t *testing.T) {
	s := open(t, t.TempDir())
	for i, index := range []string{"docs", "docs-eu", "docs-us", "doc"} {
		m := mutation("a", 1, `{}`)
		m.Index, m.Birth, m.Tombstone = index, "b", i == 1
		apply(t, s, m)
	}
	for name, want := range map[string]state.Inspection{
		"docs":         {Seen: map[string]int{"b": 1}, Complete: true},
		"docs-{@op}":   {Seen: map[string]int{"b": 2}, Tombstones: 1, Complete: true},
		"{@op}":        {Seen: map[string]int{"b": 4}, Tombstones: 1, Complete: true},
		"other":        {Complete: true},
		"docs-eu{@op}": {Seen: map[string]int{"b": 1}, Tombstones: 1, Complete: true},
	} {
		if l, err := s.Output(state.OutputRef{Pipeline: owner.Pipeline, Sink: owner.Sink, Name: name}).Inspect(t.Context(), true); err != nil || !reflect.DeepEqual(l, want) {
			t.Errorf("of %s: %+v (%v), want %+v", name, l, err, want)
		}
		if l, err := s.Output(state.OutputRef{Pipeline: owner.Pipeline, Sink: "other", Name: name}).Inspect(t.Context(), true); err != nil || l.Total() > 0 {
			t.Errorf("of another sink: %+v (%v)", l, err)
		}
	}
}
