package view

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// compareWithGuard decides the effect of a claim by the guard of its item, the stored record of the item's version and
// row:
//
//	the guard's version   the guard's row   the claim    outcome
//	newer                 any               any          guardIsNewer
//	the same, not void    none              any          durableWithoutRow
//	the same, not void    a row             any          durableWithRow
//	the same, void        none              void         durableWithoutRow
//	the same, void        a row             void         durableWithRow
//	the same, void        any               any other    guardChanges
//	older, or no guard    none              no row       guardNotNeeded if idle and not void, else guardChanges
//	older, or no guard    any               any          guardChanges otherwise
//
// idle means that the pending changes of the item in this Write request no row, and that their old images requested
// none. A void guard belongs to a change of which no row could be made, or was written by a repair.
func (o *ClaimOp) compareWithGuard(g state.Guard, idle bool) guardOutcome {
	return compareWithStored(o.Claim.Version, o.Row != "", g.Void && o.changeErr == nil, g.Version, g.Row != "", g.Void,
		idle)
}

// compareWithStored compares the version v of a change with the stored guard or contribution of its item. requests
// means that the change requests rows. replaces means that a change of the same version replaces the stored guard or
// contribution. The other arguments describe what is stored: its version, whether it has rows, and whether it is void.
func compareWithStored(
	v record.Version, requests, replaces bool, stored record.Version, hasRows, void, idle bool,
) guardOutcome {
	known, order := !stored.IsZero(), v.Compare(stored)
	switch {
	case known && order < 0:
		return guardIsNewer
	case known && order == 0 && replaces:
		return guardChanges
	case known && order == 0 && hasRows:
		return durableWithRow
	case known && order == 0:
		return durableWithoutRow
	case !hasRows && !requests && idle && !void:
		return guardNotNeeded
	default:
		return guardChanges
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
	source, version := o.Claim.Source, o.Claim.Version
	w := state.ItemWrite{Source: source, Expected: g.Version, ExpectedVoid: g.Void,
		Guard: state.Guard{Version: version, Row: o.Row, Void: o.changeErr != nil}}
	if g.Row != "" && g.Row != o.Row {
		w.Rows = append(w.Rows, rows[g.Row].change(source, version, func(rc *RowClaims) { rc.dropClaim(source, rule) }))
	}
	if o.Row != "" {
		rowWrite := rows[o.Row].change(source, version, func(rc *RowClaims) { rc.putClaim(o.Claim, rule) })
		rowWrite.Claim = o.Claim
		w.Rows = append(w.Rows, rowWrite)
	}
	return w
}

// change calls do, which changes the claims in memory. It returns the write that makes the same changes in the store.
func (rc *RowClaims) change(source item.Key, version record.Version, do func(*RowClaims)) state.RowClaimsWrite {
	w := state.RowClaimsWrite{Row: rc.Row, Expected: rc.Revision}
	do(rc)
	rc.Revision = ""
	if rc.Owner.Source != "" {
		rc.Revision = revision(w.Expected, source, version)
	}
	w.Revision, w.Owner = rc.Revision, rc.Owner
	return w
}

// revision returns a text that identifies a state of the claims on a row. It is a hash of the former revision was, and
// of the item and version that changed the claims. Item and version alone do not identify the state: another consumer
// may have written the same change to claims that this consumer never read. This consumer's later writes build on the
// claims as it read them, so these writes must be lost, too.
func revision(formerRevision string, source item.Key, version record.Version) string {
	sum := sha256.Sum256([]byte(formerRevision + " " + string(source) + "@" + version.String()))
	return hex.EncodeToString(sum[:16])
}
