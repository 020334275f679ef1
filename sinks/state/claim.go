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

// Claim is what an item would have in a row.
type Claim struct {
	Source     item.Key // of the item; "" in the zero Claim
	Version    record.Version
	Time       time.Time // creation time of that change; 1970 if it has none
	Attributes []Column  // of the row, without its key
}

// RowClaims is a row with all claims on it. The stored item of DynamoDB is called a seat.
type RowClaims struct {
	Row      Row
	Revision string  // names the last write of the claims; "" if there is no claim
	Owner    Claim   // has the row; the zero Claim: none
	Waiting  []Claim // the other claims, in no order
}

// ItemWrite moves one item from the row it had to the row it requests.
type ItemWrite struct {
	Source  item.Key
	Was     record.Version // of the guard that was read, or that an earlier write of the call leaves; zero if there was none
	WasVoid bool           // of the same guard
	Guard   Guard
	Rows    []RowClaimsWrite // changes of claims, each row once: at most the one it leaves and the one it takes
}

// RowClaimsWrite changes the claim of the write's item on a row, and the owner of the row. The other claims stay
// as they are.
type RowClaimsWrite struct {
	Row      Row
	Was      string // Revision that was read, or that an earlier write of the call leaves
	Revision string // the new one, unlike any before; "" if no claim is left
	Claim    Claim  // the new claim of the item; the zero Claim: none
	Owner    Claim  // the new owner: Claim, or one of the other claims; the zero Claim: the row is deleted
}
