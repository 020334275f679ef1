package state

import "github.com/tablewake/tablewake/pipeline/item"

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
