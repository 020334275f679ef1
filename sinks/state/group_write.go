package state

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// ErrNegative is the error of a write that removes more shares from a group than the group has. A [Share] holds the
// values that one element of an item adds to a group. The write fails until the group is repaired.
var ErrNegative = errs.New(
	"a change takes more shares from it than it has, so it was damaged or changed by hand: `tablewake audit --lag 1m` finds it, and `tablewake audit --repair` corrects it")

// GroupWrite replaces the contributions of some items, and changes the rows of their groups to match.
type GroupWrite struct {
	Items  []ContributionWrite
	Groups []GroupChange // each row once
}

// ContributionWrite replaces the contribution of one item.
type ContributionWrite struct {
	Source item.Key
	// Expected is the expected stored contribution, compared by Version and Void. It is zero if no contribution may be
	// stored
	Expected Contribution
	Next     Contribution

	// CompareShares means that Since and Shares of the stored contribution must also be those of Expected. A change that
	// is written in several parts needs this comparison: its version is the same after each part. Default: Since and
	// Shares are not compared.
	CompareShares bool
}

// Expects reports whether the stored contribution c is the expected one, so that the write may replace it.
func (w *ContributionWrite) Expects(c Contribution) bool {
	if c.Version != w.Expected.Version || c.Void != w.Expected.Void {
		return false
	}
	if !w.CompareShares {
		return true
	}
	return c.Since == w.Expected.Since && slices.EqualFunc(c.Shares, w.Expected.Shares, Share.Equal)
}

// GroupChange changes one row of an aggregate. A new row begins with zeros. The store deletes the row when it has no
// share any more. Counts and sums stay in the row even if they are 0. A min, max or distinct without members is left
// out of the row.
type GroupChange struct {
	Row     Row            // row of the group, with its shard
	Shares  int64          // number of shares added; negative if shares are removed
	Counts  []Increment    // changes of counts
	Sums    []Increment    // changes of sums
	Members []Member       // changes of the members of min, max and distinct
	Version record.Version // highest version of the items' changes
}

// Increment adds an amount to a count or a sum of a row.
type Increment struct {
	Name   string // name of the count or sum
	Amount Number
}

// Member adds a member to a min, max or distinct of a row, or removes one. Value and ID together
// identify the member, so several items may have the same Value.
type Member struct {
	Name   string // name of the min, max or distinct
	Kind   MemberKind
	Value  string // [SortableText]
	ID     string
	Remove bool
}

// MemberKind defines how a row's value is computed from its members.
type MemberKind uint8

// The kinds of a value that has members.
const (
	Min      MemberKind = iota + 1 // the least member: S before N before B; N by number
	Max                            // the greatest member
	Distinct                       // the number of different values
)

// IsBeyond reports whether a value of a new member replaces the current min or max. Both are a [SortableText]. current
// is "" if there is no member yet.
func (k MemberKind) IsBeyond(value, current string) bool {
	switch {
	case current == "":
		return true
	case k == Min:
		return value < current
	default:
		return value > current
	}
}

// ItemRowsWrite replaces the contribution of one item in a view with for_each, and changes the rows of the item. The
// contribution lists these rows. Each row belongs to this item alone. The contribution has a [Share] for each row. The
// Group of the share is the row, and the only value of the share is the digest of the row's attributes.
type ItemRowsWrite struct {
	Source   item.Key
	Expected Contribution // expected stored contribution, with its shares; zero if none is stored
	Next     Contribution
	Puts     []RowPut
	Deletes  []Row // rows that the item leaves; a row that belongs to another sink or another item stays
}

// RowPut is a row that an item has, at the version of the contribution.
type RowPut struct {
	Row        Row
	Attributes []Column // attributes of the row, without the key of the row
}
