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

// Guard holds the version of an item and the row that the item claims. The state keeps a guard for each item whose row
// other items may claim too.
type Guard struct {
	Version record.Version // newest version of the item, or of its repair; zero if the item is unknown
	Row     Row            // the row that the item claims; "" if it claims no row
	// Void means that no row could be made of the change of this version. The same version may replace the guard later.
	Void bool
}

// Claim is an item's request for a row, with the attributes that it would give the row.
type Claim struct {
	Source     item.Key // key of the item; "" in the zero Claim
	Version    record.Version
	Time       time.Time // creation time of the change with Version; 1970 if it has none
	Attributes []Column  // attributes of the row, without its key
}

// RowClaims is a row with all claims on it. The stored tables and keys call it a seat.
type RowClaims struct {
	Row      Row
	Revision string // unique text of the last write of the claims; "" if no claims are stored
	// Owner is the claim that has the row; zero if no claim has it. If claims wait and no claim has the row, the state
	// is damaged
	Owner   Claim
	Waiting []Claim // the other claims, in no order
}

// ItemGuard is one entry of a listing. It is the guard of an item, a claim of an item on a row, or the owner of a row.
type ItemGuard struct {
	Item  item.Key // "" if the key was too long to store and only its digest is known
	Guard          // the guard. A claim or an owner has only Row: "" if the row was too long to store
	Claim *Claim   // the claim, if the entry is a claim; its Source is "" if the claim cannot be read
	Owns  bool     // the entry is an owner: the claim of Item has the row Row
}

// ContestedRow is a row with waiting claims.
type ContestedRow struct {
	Row     Row
	Owner   item.Key   // key of the item that owns the row; "" if no item does
	Waiting []item.Key // keys of the items whose claims wait, sorted by their bytes
}

// Tombstone marks a removed row. It is stored in the state, apart from the table of rows.
type Tombstone struct {
	Version string    // version of the change or repair that removed the row, as text; "" in the zero Tombstone
	Source  item.Key  // key of the item that had the row
	Void    bool      // no row could be made of the change with Version
	Expires time.Time // time from which on the tombstone may be deleted; zero if never
}

// Replaces reports whether t replaces a stored tombstone. t replaces an older tombstone. It also replaces a void
// tombstone of the same version, unless t is void too.
func (t *Tombstone) Replaces(stored Tombstone) bool {
	if stored.Version == t.Version {
		return stored.Void && !t.Void
	}
	return stored.Version < t.Version
}

// ItemWrite replaces the guard of one item, and moves its claim from the old row to the new one.
type ItemWrite struct {
	Source item.Key
	// Expected is the version that the stored guard must have. The caller has read this version, or an earlier write of
	// the same call sets it. Zero means that no guard may be stored.
	Expected     record.Version
	ExpectedVoid bool // expected Void of the stored guard
	Guard        Guard
	Rows         []RowClaimsWrite // at most two rows: the row that the item leaves, and the row that it claims
}

// RowClaimsWrite changes the claim of one item on a row, and the owner of the row. It does not change the other claims.
type RowClaimsWrite struct {
	Row      Row
	Expected string // the Revision that must be stored: it was read, or an earlier write of the same call sets it
	Revision string // the new, unique Revision; "" if no claim remains
	Claim    Claim  // the new claim of the item; zero removes its claim
	Owner    Claim  // the new owner: Claim or another claim; zero deletes the row
}
