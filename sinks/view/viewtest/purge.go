package viewtest

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunPurge checks what a store forgets, and what it never does.
func RunPurge(t *testing.T, open Open) {
	p := purged{t: t}
	p.StateStore = opener(t, open)()
	p.items, p.groups = &shelf{StateStore: p.StateStore, t: t, target: target}, &shelf{StateStore: p.StateStore, t: t, target: groupTarget}
	p.empty(target, true)
	p.empty(groupTarget, true)
	start := time.Now()
	p.comeAndGo()
	own := p.emptiness()
	p.purge(start, 0)
	p.known("kept", "left", "back")
	same(t, "an older row", apply(t, p, own, row(t, "own", "gone", 4, "old")), []bool{true})
	p.purge(time.Now().Add(time.Hour), 4)
	p.known("kept", "back")
	p.purge(time.Now().Add(time.Hour), 0)
	same(t, "rows that guard themselves", rows(t, p, own.Table, view.Query{PK: item.StringValue("own")}), []string{`{"PK":{"S":"own"},"SK":{"S":"kept"},"text":{"S":"x"}}`})
	same(t, "an older row, when its tombstone is forgotten", apply(t, p, own, row(t, "own", "gone", 4, "old")), []bool{false})
	apply(t, p, own, tombstone(t, "own", "gone", 6), tombstone(t, "own", "kept", 6))
	p.items.sourced("back of back says y", "kept of kept says x")
	p.groups.rows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"2"},"revenue":{"N":"2"}}`)
	// What is forgotten is unknown, and may come anew.
	p.items.settle("L", step(t, "left", 2, 3, ""))
	p.items.settle(".", step(t, "left", 0, 3, ""))
}

// purged is a store that forgets.
type purged struct {
	StateStore
	t             *testing.T
	items, groups *shelf
}

// comeAndGo has each item come; left and back go; back comes again.
func (p *purged) comeAndGo() {
	t := p.t
	for n, key := range []item.Key{"kept", "left", "back"} {
		sk := string(key)
		c := claimOf(t, key, 1, "x")
		p.items.settle(".", step(t, key, 0, 1, sk, takes(t, sk, "", "r1", c, c)))
		p.count("it comes", counted(t, key, 0, 1, "1"), change(t, "1", 1, "1"))
		if n > 0 {
			p.items.settle(".", step(t, key, 1, 2, "", takes(t, sk, "r1", "", state.Claim{}, state.Claim{})))
			p.count("it goes", counted(t, key, 1, 2, ""), change(t, "1", -1, "-1"))
		}
	}
	back := claimOf(t, "back", 3, "y")
	p.items.settle(".", step(t, "back", 2, 3, "back", takes(t, "back", "", "r3", back, back)))
	p.count("it comes again", counted(t, "back", 2, 3, "1"), change(t, "1", 1, "1"))
}

func (p *purged) count(what string, item state.ContributionWrite, group state.GroupChange) {
	p.t.Helper()
	p.groups.held(what, state.GroupWrite{Items: []state.ContributionWrite{item}, Groups: []state.GroupChange{group}})
}

// emptiness checks that a target is empty until anything is known of it. It returns one whose rows guard themselves.
func (p *purged) emptiness() (own view.Target) {
	t := p.t
	p.empty(target, false)
	p.empty(groupTarget, false)
	other, gone, own := target, groupTarget, target
	other.View, gone.View, own.View = "another", "gone", "own"
	p.empty(other, true)
	p.groups.of(gone).held("it was never there", state.GroupWrite{Items: []state.ContributionWrite{counted(t, "gone", 0, 1, "")}})
	p.empty(gone, false)
	p.empty(own, true)
	apply(t, p, own, tombstone(t, "own", "gone", 5), row(t, "own", "kept", 5, "x"))
	p.empty(own, false)
	return own
}

func (p *purged) empty(target view.Target, want bool) {
	p.t.Helper()
	if got, err := p.Empty(p.t.Context(), target); err != nil || got != want {
		p.t.Errorf("%s is empty: %v (%v), want %v", target.View, got, err, want)
	}
}

func (p *purged) purge(before time.Time, want int) {
	p.t.Helper()
	if n, err := p.Purge(p.t.Context(), before); err != nil || n != want {
		p.t.Fatalf("%d are purged (%v), want %d", n, err, want)
	}
}

// known expects the items that have guards and contributions.
func (p *purged) known(want ...item.Key) {
	p.t.Helper()
	keys := []item.Key{"kept", "left", "back"}
	gs, err := p.Guards(p.t.Context(), target, keys)
	need(p.t, err)
	cs, err := p.Contributions(p.t.Context(), groupTarget, keys)
	need(p.t, err)
	var guarded, counted []item.Key
	for i := range keys {
		if !gs[i].Version.IsZero() {
			guarded = append(guarded, keys[i])
		}
		if !cs[i].Version.IsZero() {
			counted = append(counted, keys[i])
		}
	}
	same(p.t, "guards", guarded, want)
	same(p.t, "contributions", counted, want)
}
