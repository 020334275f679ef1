package view

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Repair returns the writes that make the guard of the op's item, its claim and the row what they should be, at the
// version that the guard has. Without a guard the version is that of the claim. rows has all claims on the row of the
// guard, on the row that the item requests, and on extra. It is changed to what the write makes of it. extra is a row that
// has the item's contents although its guard does not name it; "" is none.
func (o *ClaimOp) Repair(g state.Guard, rows map[state.Row]*RowClaims, extra state.Row, rule Collision) []state.ItemWrite {
	r := *o
	if !g.Version.IsZero() {
		r.Claim.Version = g.Version
	}
	if rc := rows[r.Row]; rc != nil { // the time of the change, by which Last decides, is not known to the item
		for _, c := range append([]state.Claim{rc.Owner}, rc.Waiting...) {
			if c.Source == r.Claim.Source {
				r.Claim.Time = c.Time
			}
		}
	}
	ws := []state.ItemWrite{r.applyClaim(g, rows, rule)}
	ws[0].Guard.Void = otherThan(g.Version, g.Void)
	if extra != "" && extra != g.Row && extra != o.Row {
		leave := rows[extra].change(r.Claim.Source, r.Claim.Version, func(rc *RowClaims) { rc.drop(r.Claim.Source, rule) })
		now := ws[0].Guard
		ws = append(ws, state.ItemWrite{Source: r.Claim.Source, Was: now.Version, WasVoid: now.Void, Guard: now, Rows: []state.RowClaimsWrite{leave}})
	}
	return ws
}

// RepairContribution returns the write that makes the contribution of an item count for shares, at the version that it
// has, and changes its groups by the difference. version is that of an item without a contribution. The write is lost if
// the contribution has changed since it was read.
func (a *Aggregate) RepairContribution(source item.Key, was state.Contribution, shares []state.Share, version record.Version) (state.GroupWrite, error) {
	if !was.Version.IsZero() {
		version = was.Version
	}
	now := state.Contribution{Version: version, Shares: shares, Void: otherThan(was.Version, was.Void)}
	switch {
	case len(shares) > 0 && len(was.Shares) > 0:
		now.Since = was.Since
	case len(shares) > 0:
		now.Since = version
	}
	c := itemChanges{key: source, stored: was, next: now, changes: []contributionChange{{was, now}}}
	b := deltaBuilder{deltas: a.newDeltas()}
	if err := b.build(&c); err != nil {
		return state.GroupWrite{}, err
	}
	w := c.write()
	w.WholeWas = true
	return state.GroupWrite{Items: []state.ContributionWrite{w}, Groups: b.groupChanges()}, nil
}

// otherThan returns Void of what a repair writes at the version that it found: the other one. A change of the item that was
// read before the repair, and is written after it, expects the version and Void of before, and is lost: it would change
// rows by the difference to what stood there. The same change, delivered again, may replace what is void.
func otherThan(version record.Version, void bool) bool { return !version.IsZero() && !void }
