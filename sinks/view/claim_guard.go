package view

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// compareWithGuard decides what a claim changes, given the guard of its item:
//
//	the guard's version   the guard's row   the claim    outcome
//	newer                 any               any          guardIsNewer
//	the same, not void    none              any          durableWithoutRow
//	the same, not void    a row             any          durableWithRow
//	the same, void        none              void         durableWithoutRow
//	the same, void        none              any other    guardChanges
//	older, or no guard    none              no row       guardNotNeeded if idle and not void, else guardChanges
//	older, or no guard    any               any          guardChanges otherwise
//
// idle means that no change that this write covers requested a row, before or after.
func (o *ClaimOp) compareWithGuard(g state.Guard, idle bool) guardOutcome {
	return compareWithStored(o.Claim.Version, o.Row != "", o.changeErr, g.Version, g.Row != "", g.Void, idle)
}

// compareWithStored compares a change, which requests rows or not, with what is stored of its item. What is void is
// replaced by the same version, unless no row can be made of it now either. It continues a change that is written in part.
func compareWithStored(v record.Version, requests bool, changeErr error, stored record.Version, hasRows, void, idle bool) guardOutcome {
	known, order := !stored.IsZero(), v.Compare(stored)
	switch continues := void && (hasRows || changeErr == nil); {
	case known && order < 0:
		return guardIsNewer
	case known && order == 0 && !continues && hasRows:
		return durableWithRow
	case known && order == 0 && !continues:
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
	durableWithoutRow                     // the guard of this version has no row
	durableWithRow                        // the guard of this version has a row
	guardNotNeeded                        // there is nothing to write
	guardChanges                          // applyClaim changes the guard and the claims on the rows
)

// applyClaim changes the claims on the row of the guard and on the row that the item requests, in memory. It
// returns the write that does the same in the store. rows holds both rows, except for a row of "".
func (o *ClaimOp) applyClaim(g state.Guard, rows map[state.Row]*RowClaims, rule Collision) state.ItemWrite {
	source, version := o.Claim.Source, o.Claim.Version
	w := state.ItemWrite{Source: source, Was: g.Version, WasVoid: g.Void, Guard: state.Guard{Version: version, Row: o.Row, Void: o.changeErr != nil}}
	if g.Row != "" && g.Row != o.Row {
		w.Rows = append(w.Rows, rows[g.Row].change(source, version, func(rc *RowClaims) { rc.drop(source, rule) }))
	}
	if o.Row != "" {
		rw := rows[o.Row].change(source, version, func(rc *RowClaims) { rc.put(o.Claim, rule) })
		rw.Claim = o.Claim
		w.Rows = append(w.Rows, rw)
	}
	return w
}

// change applies do to the claims, and returns the write that does the same in the store.
func (rc *RowClaims) change(source item.Key, version record.Version, do func(*RowClaims)) state.RowClaimsWrite {
	w := state.RowClaimsWrite{Row: rc.Row, Was: rc.Revision}
	do(rc)
	rc.Revision = ""
	if rc.Owner.Source != "" {
		rc.Revision = revision(w.Was, source, version)
	}
	w.Revision, w.Owner = rc.Revision, rc.Owner
	return w
}

// revision names a state of the claims on a row: a hash of the former revision and of the item and version that
// changed it. Item and version alone do not identify the state. Another consumer may have written the same change
// over claims that this one never read, and later writes that build on it must be lost, too.
func revision(was string, source item.Key, version record.Version) string {
	sum := sha256.Sum256([]byte(was + " " + string(source) + "@" + version.String()))
	return hex.EncodeToString(sum[:16])
}
