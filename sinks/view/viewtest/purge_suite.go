package viewtest

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunPurge checks which guards, contributions and tombstones a purge deletes, and which of them it keeps. It also
// checks [view.Emptier].
func RunPurge(t *testing.T, open Open) {
	s := &storeCheck{StateStore: opener(t, open)(), t: t, target: target}
	p := purgeCheck{s, s.withTarget(groupTarget)}
	p.wantEmpty(target, true)
	p.wantEmpty(groupTarget, true)
	start := time.Now()
	p.writeItems()
	own := p.checkEmptiness()
	p.purge(start, 0) // everything is newer
	p.wantKnown("kept", "left", "back")
	wantSuperseded(t, "an older row", p, own, putRow(t, "own", "gone", 4, "old"))
	// It purges the guard and the contribution of left, the contribution of gone, and the tombstone of (own, gone).
	p.purge(time.Now().Add(time.Hour), 4)
	p.wantKnown("kept", "back")
	p.purge(time.Now().Add(time.Hour), 0) // nothing is left to purge
	checkEqual(t, "rows that guard themselves", readRows(t, p, own.Table, view.Query{PK: item.StringValue("own")}),
		[]string{`{"PK":{"S":"own"},"SK":{"S":"kept"},"text":{"S":"x"}}`})
	wantApplied(t, "an older row, when its tombstone is forgotten", p, own, putRow(t, "own", "gone", 4, "old"))
	apply(t, p, own, tombstone(t, "own", "gone", 6), tombstone(t, "own", "kept", 6))
	p.wantTexts("back of back says y", "kept of kept says x")
	p.groups.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"2"},"revenue":{"N":"2"}}`)
	// An item whose guard was purged is unknown, so it may be written again.
	p.wantWrites("L", itemWrite(t, "left", 2, 3, ""))
	p.wantWrites(".", itemWrite(t, "left", 0, 3, ""))
}

// purgeCheck is a store with helpers to check its purges.
type purgeCheck struct {
	*storeCheck
	groups *storeCheck // the same store with groupTarget
}

// writeItems inserts three items, removes left and back, and inserts back again.
func (p *purgeCheck) writeItems() {
	t := p.t
	for n, key := range []item.Key{"kept", "left", "back"} {
		sk := string(key)
		c := claimOf(t, key, 1, "x")
		p.wantWrites(".", itemWrite(t, key, 0, 1, sk, claimsWrite(t, sk, "", "r1", c, c)))
		p.contribute("it comes", countItem(t, key, 0, 1, "1"), groupChange(t, "1", 1, "1"))
		if n > 0 {
			p.wantWrites(".", itemWrite(t, key, 1, 2, "", claimsWrite(t, sk, "r1", "", noClaim, noClaim)))
			p.contribute("it goes", countItem(t, key, 1, 2, ""), groupChange(t, "1", -1, "-1"))
		}
	}
	back := claimOf(t, "back", 3, "y")
	p.wantWrites(".", itemWrite(t, "back", 2, 3, "back", claimsWrite(t, "back", "", "r3", back, back)))
	p.contribute("it comes again", countItem(t, "back", 2, 3, "1"), groupChange(t, "1", 1, "1"))
}

func (p *purgeCheck) contribute(what string, item state.ContributionWrite, group state.GroupChange) {
	p.t.Helper()
	p.groups.mustWrite(what, groupWrite(item, group))
}

// checkEmptiness checks that a target is empty until it has a row, a guard, a contribution or a tombstone. It returns a
// target whose rows guard themselves.
func (p *purgeCheck) checkEmptiness() (own view.Target) {
	t := p.t
	p.wantEmpty(target, false)
	p.wantEmpty(groupTarget, false)
	other, gone, own := target, groupTarget, target
	other.View, gone.View, own.View = "another", "gone", "own"
	p.wantEmpty(other, true)
	p.groups.withTarget(gone).mustWrite("it was never there", groupWrite(countItem(t, "gone", 0, 1, "")))
	p.wantEmpty(gone, false)
	p.wantEmpty(own, true)
	apply(t, p, own, tombstone(t, "own", "gone", 5), putRow(t, "own", "kept", 5, "x"))
	p.wantEmpty(own, false)
	return own
}

func (p *purgeCheck) wantEmpty(target view.Target, want bool) {
	p.t.Helper()
	if got, err := p.Empty(p.t.Context(), target); err != nil || got != want {
		p.t.Errorf("%s is empty: %v (%v), want %v", target.View, got, err, want)
	}
}

func (p *purgeCheck) purge(before time.Time, want int) {
	p.t.Helper()
	if n, err := p.Purge(p.t.Context(), before); err != nil || n != want {
		p.t.Fatalf("%d are purged (%v), want %d", n, err, want)
	}
}

// wantKnown checks that the items of want, and no other items, have guards and contributions.
func (p *purgeCheck) wantKnown(want ...item.Key) {
	p.t.Helper()
	keys := []item.Key{"kept", "left", "back"}
	gs, err := p.Guards(p.t.Context(), target.State(), keys)
	must(p.t, err)
	cs, err := p.Contributions(p.t.Context(), groupTarget.State(), keys)
	must(p.t, err)
	var withGuards, withContributions []item.Key
	for i := range keys {
		if !gs[i].Version.IsZero() {
			withGuards = append(withGuards, keys[i])
		}
		if !cs[i].Version.IsZero() {
			withContributions = append(withContributions, keys[i])
		}
	}
	checkEqual(p.t, "guards", withGuards, want)
	checkEqual(p.t, "contributions", withContributions, want)
}
