package state_test

import (
	"slices"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
)

func TestFingerprint_Changed(t *testing.T) {
	was := state.Fingerprint{Settings: map[string]string{"view.table": "a", "view.when": "x", "view.key.PK": "{A}", "same": ""}}
	now := state.Fingerprint{Settings: map[string]string{"view.table": "b", "view.key.SK": "", "view.key.PK": "{A}", "same": ""}}
	if got, want := was.Changed(now), []string{"view.key.SK", "view.table", "view.when"}; !slices.Equal(got, want) {
		t.Errorf("changed %q, want %q", got, want)
	}
	if got := was.Changed(was); len(got) != 0 {
		t.Errorf("nothing changed, and yet %q", got)
	}
}
