package view

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// If a repair keeps the version, only Void distinguishes the records before and after the repair: it is the opposite of
// the former one. A change of the item may have been planned before the repair. Its write expects the former Void, so
// it is lost, and the change is planned again. If the repaired record has a row or shares, a redelivery of the change
// of that version leaves it as it is. If it has none, Void looks like that of a change without a row, and the
// redelivery replaces it.

// Repair returns the writes that correct the guard of the op's item, its claim and its row. version is the version of
// the item's last saved record; zero if the item was read elsewhere. The writes keep the version of the guard g, unless
// version is later in the same stream. If g is zero, they use the version of the op's claim.
//
// strayRow is a row that has the item's attributes although g names another row; "" if there is none. The writes remove
// the item's claim on strayRow. rows must have the claims on the row of g, on the row that the item requests, and on
// strayRow. Repair changes rows to the state after the writes.
func (o *ClaimOp) Repair(
	g state.Guard, version record.Version, rows map[state.Row]*RowClaims, strayRow state.Row, rule Collision,
) []state.ItemWrite {
	repaired := *o
	source := repaired.Claim.Source
	// KeepLast compares the times of changes. With new times for the items that differ, and the former ones for others, a
	// row would get a wrong owner.
	takesVersion := rule != KeepLast && isLaterInStream(version, g.Version)
	keepsVersion := !g.Version.IsZero() && !takesVersion
	if takesVersion {
		repaired.Claim.Version = version
	}
	if keepsVersion {
		repaired.Claim.Version = g.Version
	}

	// An item of the source table has no time, so take the time of the stored claim.
	if claims := rows[repaired.Row]; claims != nil && !takesVersion {
		for _, c := range append([]state.Claim{claims.Owner}, claims.Waiting...) {
			if c.Source == source {
				repaired.Claim.Time = c.Time
			}
		}
	}

	write := repaired.applyClaim(g, rows, rule)
	if keepsVersion {
		write.Guard.Void = !g.Void
	}

	// applyClaim has already handled the row of g and the row of the op. Only another row is stray.
	isStray := strayRow != "" && strayRow != g.Row && strayRow != o.Row
	if !isStray {
		return []state.ItemWrite{write}
	}
	guard := write.Guard // the removal follows the write, and leaves the guard as it is
	removal := state.ItemWrite{Source: source, Expected: guard.Version, ExpectedVoid: guard.Void, Guard: guard,
		Rows: []state.RowClaimsWrite{repaired.leaveRow(rows[strayRow], rule)}}
	return []state.ItemWrite{write, removal}
}

// RepairContribution returns the write that sets the shares of an item's contribution, and changes its groups by the
// difference. stored is the contribution that was read. version is the version of the item's last saved record; zero if
// there is none, or if records do not show all that counts. The write keeps the version of stored, unless version is
// later in the same stream. If nothing is stored, the write has the version fallback. If the contribution has changed
// since it was read, the write is lost.
func (a *Aggregate) RepairContribution(
	source item.Key, stored state.Contribution, shares []state.Share, version, fallback record.Version,
) (state.GroupWrite, error) {
	takesVersion := isLaterInStream(version, stored.Version)
	keepsVersion := !stored.Version.IsZero() && !takesVersion
	switch {
	case keepsVersion:
		version = stored.Version
	case !takesVersion:
		version = fallback
	}
	next := state.Contribution{Version: version, Since: countsSince(stored, version, shares), Shares: shares,
		Void: keepsVersion && !stored.Void}

	c := itemChanges{key: source, stored: stored, next: next, changes: []contributionChange{{from: stored, to: next}}}
	b := deltaBuilder{deltas: a.newDeltas()}
	if err := b.build(&c); err != nil {
		return state.GroupWrite{}, err
	}

	w := c.contributionWrite()
	w.CompareShares = true
	return state.GroupWrite{Items: []state.ContributionWrite{w}, Groups: b.groupChanges()}, nil
}

// isLaterInStream reports whether version is of the same stream as stored, and newer. It returns false if nothing is
// stored.
func isLaterInStream(version, stored record.Version) bool {
	return !stored.IsZero() && version.Epoch() == stored.Epoch() && version.Compare(stored) > 0
}
