package view

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
)

// Collision says what becomes of an item that claims a row which another item
// holds. Whatever it says, the claim is kept: once the holder leaves the row, the
// first of those who wait has it, by time, version and key.
type Collision string

// What can become of such an item.
const (
	DeadLetterCollision Collision = "dead_letter" // it waits, and its change goes to dead letters with a [CollisionError]
	KeepFirst           Collision = "keep_first"  // it waits
	Last                Collision = "last"        // the item that changed last has the row, by time, version and key; the others wait
)

// ReasonCollision is the reason of a change without effect: its item waits for a
// row that another holds.
const ReasonCollision = "collision"

// CollisionError says that two items claim one row. It is permanent.
type CollisionError struct {
	View   string
	Row    string       // its key as explain shows it: PK="EMAIL#a@b" SK="USER"
	Holder pipeline.Key // of the item that has the row
	Source pipeline.Key // of the item that waits for it
}

var _ pipeline.Redacted = (*CollisionError)(nil)

// Error names the row and both items.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("view %q: the item %s holds the row %s, which the item %s claims too: it has the row once the other leaves it; change one of the two, "+
		"or let on_collision say %s or %s", e.View, e.Holder, e.Row, e.Source, KeepFirst, Last)
}

// Redacted leaves out the row and both items.
func (e *CollisionError) Redacted() string {
	return fmt.Sprintf("view %q: two items claim one row; the dead letter names them", e.View)
}
