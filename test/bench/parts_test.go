package main

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
)

// A process that reads nothing, or almost nothing, is reported.
func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		first, second int64
		equal         bool
	}{
		"alike":       {50, 50, true},
		"idle":        {100, 0, false},
		"almost idle": {90, 10, false},
	} {
		m := &partMemory{}
		for owner, n := range map[string]int64{"a": c.first, "b": c.second} {
			if n == 0 {
				continue
			}
			claimed := state.Part{ID: owner, Owner: owner}
			done := state.Part{ID: owner, Items: n, Done: true}
			for _, step := range [][2]state.Part{{{}, claimed}, {claimed, done}} {
				if ok, err := m.SetPart(t.Context(), step[0], step[1]); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
		}
		if err := m.checkShares(2, 100); (err == nil) != c.equal {
			t.Errorf("%s: %v", name, err)
		}
	}
}
