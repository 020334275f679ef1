package view

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Collision says which of the items that claim a row has it, and the result of a change whose
// item has not. The item with the smallest key has it (the bytes of [item.Key]), in whatever
// order they came: an item with a smaller key takes the row over, and the other one's claim
// waits. Every claim is kept, and gets the row when those before it have left.
//
// Which changes become dead letters depends on the order: the change of an item whose claim waits
// does. The change of an item that loses the row later does not: it was written before.
type Collision string

// The values of Collision.
const (
	DeadLetterCollision Collision = "dead_letter" // the item waits, and its change goes to dead letters with a [CollisionError]
	KeepFirst           Collision = "keep_first"  // the item waits
	Last                Collision = "last"        // the item that changed last has the row instead, by time, version and key; the others wait
)

// ReasonCollision is the reason of a change without effect: its item waits for a row that
// another item has.
const ReasonCollision = "collision"

// CollisionError says that two items claim one row. It is permanent.
type CollisionError struct {
	View   string
	Row    string   // its key as explain shows it: PK="EMAIL#a@b" SK="USER"
	Owner  item.Key // of the item that has the row
	Source item.Key // of the item that waits for it
}

var _ redact.Redacted = (*CollisionError)(nil)

// Error names the row and both items.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("view %q: the item %s holds the row %s, which the item %s claims too: it has the row once the other leaves it; change one of the two, "+
		"or let on_collision say %s or %s", e.View, e.Owner, e.Row, e.Source, KeepFirst, Last)
}

// Redacted leaves out the row and both items.
func (e *CollisionError) Redacted() string {
	return fmt.Sprintf("view %q: two items claim one row; the dead letter names them", e.View)
}

// Describe is its class.
func (e *CollisionError) Describe() (class, field string) { return "collision", "" }
