package state

import "github.com/tablewake/tablewake/pipeline/record"

// Row is the key of a row as text: the values of its partition key and its sort
// key, written as [item.Key] writes the key of an item. It is injective, and
// [Row.Decode] takes it apart. The zero Row is no row.
type Row string

// Guard is what is remembered of an item whose row other items may claim too: the
// version that was seen last, and the row that it asks for.
type Guard struct {
	Version record.Version // zero: nothing is known of the item
	Row     Row            // "": the item has no row
	Void    bool           // no row could be made of that change: the same version, once one can be made of it, may replace this guard
}
