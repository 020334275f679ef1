package state

import "github.com/tablewake/tablewake/pipeline/item"

// ItemRowsWrite replaces what is remembered of the rows of one item, and changes these rows. Each row belongs to this item
// alone. The contributions have a [Share] for each row: Group is the row, and the one value is the digest of what is in it.
type ItemRowsWrite struct {
	Source  item.Key
	Was     Contribution // as it must be stored, with its shares; zero: there is none
	Now     Contribution
	Puts    []RowPut
	Deletes []Row // rows that the item leaves; one that belongs to another sink or another item stays
}

// RowPut is a row that an item has, at the version of the contribution.
type RowPut struct {
	Row        Row
	Attributes []Column // without its key
}
