package view

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// judge compares a claim with the guard of its item:
//
//	the guard's version   the item had   asks for   judgement
//	newer                 any            any        older
//	the same, not void    no row         any        done
//	the same, not void    a row          any        stands
//	the same, void        no row         void       done
//	the same, void        no row         any        moves
//	older, or unknown     no row         no row     nothing if idle, and the guard is not void, else moves
//	older, or unknown     any            any        moves, else
//
// idle tells that none of the changes which the claim stands for asked for a row
// before or after.
func (o *ClaimOp) judge(g state.Guard, idle bool) judgement {
	known := !g.Version.IsZero()
	switch c := o.Claim.Version.Compare(g.Version); {
	case known && c < 0:
		return older
	case known && c == 0 && g.Void && o.flaw == nil:
		return moves
	case known && c == 0 && g.Row == "":
		return done
	case known && c == 0:
		return stands
	case g.Row == "" && o.Row == "" && idle && !g.Void:
		return nothing
	default:
		return moves
	}
}

type judgement uint8

const (
	older   judgement = iota // than what the item is known to be
	done                     // the item has no row since this very version
	stands                   // the item claims its row since this very version
	nothing                  // there is nothing to remember
	moves                    // the item is to be moved: see move
)

// move changes the claims on the row that the item had and on the one that it requests, and returns the write
// that does so in the store. rows holds both, except for a row of "".
func (o *ClaimOp) move(g state.Guard, rows map[state.Row]*RowClaims, rule Collision) state.ItemWrite {
	source, version := o.Claim.Source, o.Claim.Version
	w := state.ItemWrite{Source: source, Was: g.Version, WasVoid: g.Void, Guard: state.Guard{Version: version, Row: o.Row, Void: o.flaw != nil}}
	if g.Row != "" && g.Row != o.Row {
		w.Rows = append(w.Rows, rows[g.Row].write(source, version, func(s *RowClaims) { s.drop(source, rule) }))
	}
	if o.Row != "" {
		sw := rows[o.Row].write(source, version, func(s *RowClaims) { s.put(o.Claim, rule) })
		sw.Claim = o.Claim
		w.Rows = append(w.Rows, sw)
	}
	return w
}

// write changes the claims, and returns that change for the store.
func (s *RowClaims) write(source item.Key, version record.Version, change func(*RowClaims)) state.RowClaimsWrite {
	w := state.RowClaimsWrite{Row: s.Row, Was: s.Revision}
	change(s)
	s.Revision = ""
	if s.Owner.Source != "" {
		s.Revision = revision(w.Was, source, version)
	}
	w.Revision, w.Owner = s.Revision, s.Owner
	return w
}

// revision names a state of the claims on a row: a hash of the former revision and of the item and version
// that changed it. Item and version alone do not identify it: another consumer may have written the same change
// over claims that this one never read, and later writes that build on it must be lost, too.
func revision(was string, source item.Key, version record.Version) string {
	sum := sha256.Sum256([]byte(was + " " + string(source) + "@" + version.String()))
	return hex.EncodeToString(sum[:16])
}
