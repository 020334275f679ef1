package view

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tablewake/tablewake/pipeline"
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

// move changes the seats of the row that the item had and of the one that it asks
// for, and returns the write that does so in the store. seats holds both, except
// for a row of "".
func (o *ClaimOp) move(g state.Guard, seats map[state.Row]*Seat, rule Collision) ItemWrite {
	source, version := o.Claim.Source, o.Claim.Version
	w := ItemWrite{Source: source, Was: g.Version, WasVoid: g.Void, Guard: state.Guard{Version: version, Row: o.Row, Void: o.flaw != nil}}
	if g.Row != "" && g.Row != o.Row {
		w.Seats = append(w.Seats, seats[g.Row].write(source, version, func(s *Seat) { s.drop(source, rule) }))
	}
	if o.Row != "" {
		sw := seats[o.Row].write(source, version, func(s *Seat) { s.put(o.Claim, rule) })
		sw.Claim = o.Claim
		w.Seats = append(w.Seats, sw)
	}
	return w
}

// write changes the seat, and is that change as a store sees it.
func (s *Seat) write(source pipeline.Key, version pipeline.Version, change func(*Seat)) SeatWrite {
	w := SeatWrite{Row: s.Row, Was: s.Revision}
	change(s)
	s.Revision = ""
	if s.Holder.Source != "" {
		s.Revision = revision(w.Was, source, version)
	}
	w.Revision, w.Holder = s.Revision, s.Holder
	return w
}

// revision stands for all that happened to a seat since nobody claimed it: the item
// and version that changed it last, and what it was before. These two alone would not do: another
// worker may have got ahead with the same change, behind claims that this one
// never saw, and what this one builds on the change must then be lost too.
func revision(was string, source pipeline.Key, version pipeline.Version) string {
	sum := sha256.Sum256([]byte(was + " " + string(source) + "@" + version.String()))
	return hex.EncodeToString(sum[:16])
}
