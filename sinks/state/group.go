package state

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GroupWrite is what some items count for now, and what that changes in the rows of
// their groups.
type GroupWrite struct {
	Items  []ContributionWrite
	Groups []GroupChange // each row once
}

// ContributionWrite replaces what one item counts for.
type ContributionWrite struct {
	Source  item.Key
	Was     record.Version // that was read; zero where the item was not known
	WasVoid bool           // likewise
	Now     Contribution
}

// GroupChange changes one row of an aggregate. The row begins with zeros, and goes
// away when as many shares have left it as came. It holds the values that any of its
// changes named in Counts and Sums, also where they are 0, and of those that are made
// of members the ones that have any: a min, max or distinct without one is left out.
type GroupChange struct {
	Row     Row            // with its shard
	Shares  int64          // that come, or leave where it is negative
	Counts  []Increment    // count
	Sums    []Increment    // sum
	Members []Member       // min, max and distinct
	Version record.Version // highest of the changes that it is of
}

// Increment adds to a number of a row.
type Increment struct {
	Name   string // of the value
	Amount Number
}

// Member puts a value among those that a min, a max or a distinct of a row is made
// of, or takes it out. ID tells equal values of several owners apart; of one
// Value and ID there is one member.
type Member struct {
	Name   string // of the value
	Kind   MemberKind
	Value  string // [SortableText]
	ID     string
	Remove bool
}

// MemberKind says what is made of a row's members.
type MemberKind uint8

// The kinds of a value that has members.
const (
	Min      MemberKind = iota + 1 // the least: S before N before B, N by number
	Max                            // the greatest
	Distinct                       // how many different ones there are
)
