package view

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// Collision is a view's rule for a row that several items claim. One claim owns the row, and the other claims wait. The
// owner is the item with the smallest key (the bytes of [item.Key]), whatever the order of arrival. If an item with a
// smaller key claims the row, it becomes the owner, and the claim of the former owner waits. If the owner leaves the
// row, the claim of the item with the next key gets the row.
//
// The order of arrival determines which changes are dead-lettered. If the claim of a change waits when it is written,
// the change is dead-lettered. If an item owns the row first and loses it later, its change is not dead-lettered,
// because it has already been written.
//
// A backfill reads items at different times. So two items may claim a row although only one of them would have it at
// any one time. Therefore a claim of a backfill waits without a dead letter ([Options.Backfill]). [Sink.Contested]
// lists the claims that still wait at the end.
type Collision string

// The values of Collision.
const (
	// DeadLetterCollision dead-letters a change whose claim waits, with a [CollisionError].
	DeadLetterCollision Collision = "dead_letter"
	// KeepFirst lets the claim wait, without a dead letter.
	KeepFirst Collision = "keep_first"
	// KeepLast makes the item that changed last the owner of the row, by time, then version, then key. The other claims
	// wait.
	KeepLast Collision = "last"
)

// ReasonCollision is the reason for no effect if the claim of a change waits for a row of another item.
const ReasonCollision = "collision"

// CollisionError reports that two items claim one row. It is permanent.
type CollisionError struct {
	View   string
	Row    string    // key of the row as explain shows it: PK="EMAIL#a@b" SK="USER"
	Owner  item.Key  // key of the item that owns the row
	Source item.Key  // key of the item whose claim waits
	RowKey state.Row // the row in the store, if an item can have several rows; else ""

	// NotIdentified means that the names of [Options.Unique] do not identify the item. Its claim does not wait: the
	// change must be redriven.
	NotIdentified bool

	OwnerRemoved bool // with NotIdentified: Owner was removed after the change, so its tombstone refuses the row
}

var _ redact.Redacted = (*CollisionError)(nil)

// Error names the row and both items.
func (e *CollisionError) Error() string {
	if e.OwnerRemoved {
		return fmt.Sprintf(
			"view %q: the row %s was of the item %s, which was removed after this change of the item %s: change this item again; "+
				"or discard the dead letter (`tablewake redrive --discard`), and let the repair of an audit write the row",
			e.View, e.Row, e.Owner, e.Source)
	}
	if e.NotIdentified {
		other := ""
		if e.RowKey == "" { // with several rows an item, on_collision has only its default
			other = fmt.Sprintf(", or let on_collision say %s or %s", KeepFirst, KeepLast)
		}
		return fmt.Sprintf(
			"view %q: the row %s is of the item %s, and the item %s claims it, too, though the names in its key are to identify the item (unique): "+
				"change one of the two and redrive%s", e.View, e.Row, e.Owner, e.Source, other)
	}
	return fmt.Sprintf(
		"view %q: the item %s holds the row %s, which the item %s claims too: it has the row once the other leaves it; change one of the two, "+
			"or let on_collision say %s or %s", e.View, e.Owner, e.Row, e.Source, KeepFirst, KeepLast)
}

// Redacted returns the error without the row and the items.
func (e *CollisionError) Redacted() string {
	return fmt.Sprintf("view %q: two items claim one row; the dead letter names them", e.View)
}

// LetterClass returns the class of the dead letter.
func (e *CollisionError) LetterClass() string { return pipeline.ClassCollision }

// Describe returns the class.
func (e *CollisionError) Describe() (class, field string) { return "collision", "" }
