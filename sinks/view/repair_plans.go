package view

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// A repair is written like a change of the item. Its version is newer than the stored one: see
// [record.Version.NextRepair]. So a write that was planned before the repair is lost, because it expects the former
// version, and a redelivery of the change before the repair is superseded.

// Repair returns the writes that correct the guard of the op's item, its claim and its row. They have the version of
// the op's claim, which must be newer than the guard g.
//
// strayRow is a row that still has the item's claim, although neither g nor the op names it; "" if there is none. The
// writes remove the claim. rows must have the claims on the row of g, on the row that the item requests, and on
// strayRow. Repair changes rows to the state after the writes.
func (o *ClaimOp) Repair(
	g state.Guard, rows map[state.Row]*RowClaims, strayRow state.Row, rule Collision,
) []state.ItemWrite {
	repaired := *o
	source := repaired.Claim.Source
	// Keep the time of the stored claim. An item of the table has none, and KeepLast gives the row to the latest time. New
	// times for repaired items only would decide that wrongly.
	if claims := rows[repaired.Row]; claims != nil {
		for _, c := range append([]state.Claim{claims.Owner}, claims.Waiting...) {
			if c.Source == source {
				repaired.Claim.Time = c.Time
			}
		}
	}

	write := repaired.applyClaim(g, rows, rule)
	// applyClaim has already handled the row of g and the row of the op. Only another row is stray.
	isStray := strayRow != "" && strayRow != g.Row && strayRow != o.Row
	if !isStray {
		return []state.ItemWrite{write}
	}
	guard := write.Guard // the first write sets this guard, so the removal expects it, and leaves it
	removal := state.ItemWrite{Source: source, Expected: guard.Version, ExpectedVoid: guard.Void, Guard: guard,
		Rows: []state.RowClaimsWrite{repaired.leaveRow(rows[strayRow], rule)}}
	return []state.ItemWrite{write, removal}
}

// RepairContribution returns the write that sets the shares of an item's contribution, and changes its groups by the
// difference. stored is the contribution that was read. version is the new version, which must be newer than stored. If
// the contribution has changed since it was read, the write is lost.
func (a *Aggregate) RepairContribution(
	source item.Key, stored state.Contribution, shares []state.Share, version record.Version,
) (state.GroupWrite, error) {
	next := state.Contribution{Version: version, Since: countsSince(stored, version, shares), Shares: shares}
	c := itemChanges{key: source, stored: stored, next: next, changes: []contributionChange{{from: stored, to: next}}}
	b := deltaBuilder{deltas: a.newDeltas()}
	if err := b.build(&c); err != nil {
		return state.GroupWrite{}, err
	}

	return state.GroupWrite{Items: []state.ContributionWrite{c.contributionWrite()}, Groups: b.groupChanges()}, nil
}
