package state

import (
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Column is one attribute of a row.
type Column struct {
	Name  string
	Value item.Value
}

// Guard is what the state remembers of an item whose row other items may claim too.
type Guard struct {
	Version record.Version // newest version of the item; zero if nothing is known of the item
	Row     Row            // the row that the item claims; "" if it claims none
	Void    bool           // no row could be made of that version; the same version may replace this guard once one can be made
}

// Claim is an item's request for a row, with the attributes that it would give the row.
type Claim struct {
	Source     item.Key // key of the item; "" in the zero Claim
	Version    record.Version
	Time       time.Time // creation time of that change; 1970 if it has none
	Attributes []Column  // attributes of the row, without its key
}

// RowClaims is a row with all claims on it. The tables that store it call it a seat.
type RowClaims struct {
	Row      Row
	Revision string  // unique text of the last write of the claims; "" if there is none
	Owner    Claim   // the claim that has the row; the zero Claim if none has it. Beside waiting claims that is damage
	Waiting  []Claim // the other claims, in no order
}

// ItemGuard is the guard of an item, or a claim of one, or a row that one has.
type ItemGuard struct {
	Item  item.Key // "" if only a digest of the key is stored, which was too long
	Guard          // of a claim and of a row: only Row; "" if only a digest of it is stored that nothing resolves
	Claim *Claim   // a claim. Without Source: one that cannot be read
	Owns  bool     // Item has Row, by the claims on it
}

// ContestedRow is a row with waiting claims.
type ContestedRow struct {
	Row     Row
	Owner   item.Key   // of the item that owns the row; "" if none does
	Waiting []item.Key // of the items whose claims wait, in the order of their bytes
}

// Tombstone marks a removed row. It is stored apart from the table of rows.
type Tombstone struct {
	Version string    // text of the version of the change that removed the row; "" in the zero Tombstone
	Source  item.Key  // the item that had the row
	Void    bool      // no row could be made of the change
	Expires time.Time // when the tombstone may be deleted; zero: never
}

// Replaces reports whether t is written over a stored tombstone: over an older one, and over a void of its version unless
// it is void, too.
func (t *Tombstone) Replaces(stored Tombstone) bool {
	return stored.Version < t.Version || stored.Version == t.Version && stored.Void && !t.Void
}

// ItemWrite replaces the guard of one item, and moves its claim from the old row to the new one.
type ItemWrite struct {
	Source  item.Key
	Was     record.Version // expected version of the guard: as read, or as an earlier write of the same call leaves it; zero if there was none
	WasVoid bool           // expected Void of the guard
	Guard   Guard
	Rows    []RowClaimsWrite // at most two: the row that the item leaves and the row that it claims
}

// RowClaimsWrite changes the claim of one item on a row, and the owner of the row. The other claims stay
// unchanged.
type RowClaimsWrite struct {
	Row      Row
	Was      string // expected Revision: as read, or as an earlier write of the same call leaves it
	Revision string // the new, unique Revision; "" if no claim is left
	Claim    Claim  // the new claim of the item; the zero Claim removes it
	Owner    Claim  // the new owner: Claim or another claim; the zero Claim deletes the row
}
