package view

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// compareWithGuard decides the effect of a claim. It compares the claim with the guard g of the item, which records the
// item's version and row. A guard is void if a change wrote it that could not be mapped to a row. idle means that the
// pending changes of the item in this Write request no row, and that their old images requested none.
func (o *ClaimOp) compareWithGuard(g state.Guard, idle bool) guardOutcome {
	return guardComparison{
		version: o.Claim.Version, idle: idle,
		storedVersion: g.Version, hasStoredRows: g.Row != "", isStoredVoid: g.Void,
		replacesSameVersion: g.Void && o.changeErr == nil,
	}.outcome()
}

// guardComparison compares a change with the guard or the contribution that is stored for its item.
type guardComparison struct {
	version record.Version // version of the change
	idle    bool           // the pending changes of the item request no rows, and their old images requested none

	storedVersion       record.Version // zero if nothing is stored
	hasStoredRows       bool           // the stored guard or contribution has rows
	isStoredVoid        bool           // the stored guard or contribution is void
	replacesSameVersion bool           // the change also replaces a guard or contribution of its own version
}

// outcome returns the effect of the change.
func (c guardComparison) outcome() guardOutcome {
	order := c.version.Compare(c.storedVersion)
	isNewer := c.storedVersion.IsZero() || order > 0
	switch {
	case isNewer && c.idle && !c.hasStoredRows && !c.isStoredVoid:
		return guardNotNeeded
	case isNewer:
		return guardChanges
	case order < 0 && c.hasStoredRows && c.version == c.storedVersion.WithoutRepair():
		return durableWithRow // the change has its row; a repair wrote it again
	case order < 0:
		return guardIsNewer
	case c.replacesSameVersion: // the versions are the same from here on
		return guardChanges
	case c.hasStoredRows:
		return durableWithRow
	default:
		return durableWithoutRow
	}
}

// guardOutcome is the result of comparing a claim with a guard.
type guardOutcome uint8

const (
	guardIsNewer      guardOutcome = iota // the claim is superseded
	durableWithoutRow                     // the guard has this version already, without a row
	durableWithRow                        // the guard has this version already, with a row
	guardNotNeeded                        // nothing has to be written
	guardChanges                          // applyClaim changes the guard and the claims on the rows
)

// applyClaim changes, in memory, the claims on the row of the guard and on the row that the item requests. It returns
// the write that makes the same changes in the store. rows must have the claims on both rows; a row that is "" needs
// none.
func (o *ClaimOp) applyClaim(g state.Guard, rows map[state.Row]*RowClaims, rule Collision) state.ItemWrite {
	w := state.ItemWrite{Source: o.Claim.Source, Expected: g.Version, ExpectedVoid: g.Void,
		Guard: state.Guard{Version: o.Claim.Version, Row: o.Row, Void: o.changeErr != nil}}
	if g.Row != "" && g.Row != o.Row {
		w.Rows = append(w.Rows, o.leaveRow(rows[g.Row], rule))
	}
	if o.Row != "" {
		rc := rows[o.Row]
		formerRevision := rc.Revision
		rc.putClaim(o.Claim, rule)
		rowWrite := o.reviseClaims(rc, formerRevision)
		rowWrite.Claim = o.Claim
		w.Rows = append(w.Rows, rowWrite)
	}
	return w
}

// leaveRow removes the item's claim from rc, in memory. It returns the write that makes the same change in the store.
func (o *ClaimOp) leaveRow(rc *RowClaims, rule Collision) state.RowClaimsWrite {
	formerRevision := rc.Revision
	rc.dropClaim(o.Claim.Source, rule)
	return o.reviseClaims(rc, formerRevision)
}

// reviseClaims gives rc a new revision, after the op has changed rc in memory. It returns the write that makes the same
// change in the store. formerRevision is the revision before the change.
func (o *ClaimOp) reviseClaims(rc *RowClaims, formerRevision string) state.RowClaimsWrite {
	rc.Revision = ""
	if rc.Owner.Source != "" {
		rc.Revision = revision(formerRevision, o.Claim.Source, o.Claim.Version)
	}
	return state.RowClaimsWrite{Row: rc.Row, Expected: formerRevision, Revision: rc.Revision, Owner: rc.Owner}
}

// revision returns a text that identifies a state of the claims on a row. It is a hash of the former revision, and of
// the item and version that changed the claims. Item and version alone do not identify the state: another consumer may
// have made the same change to claims that this consumer has never read. Then this consumer's later writes must be
// lost, because they build on the claims that it read.
func revision(formerRevision string, source item.Key, version record.Version) string {
	sum := sha256.Sum256([]byte(formerRevision + " " + string(source) + "@" + version.String()))
	return hex.EncodeToString(sum[:16])
}
