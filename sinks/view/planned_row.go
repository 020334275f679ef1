package view

import (
	"errors"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Step is the reason why a row is written.
type Step uint8

// The steps of a row.
const (
	Enter    Step = iota + 1 // the item had no row and has one now
	Update                   // the row keeps its key
	MoveTo                   // the row moves to this key
	MoveFrom                 // the row moves from this key to another one
	// the item has no row any more, because it does not match the condition or a value of its row key is missing
	Leave
	Disappear // the item was removed
)

// String returns the step as explain shows it.
func (s Step) String() string {
	switch s {
	case Enter:
		return "enters"
	case Update:
		return "stays"
	case MoveTo:
		return "moves here"
	case MoveFrom:
		return "moves away"
	case Leave:
		return "leaves"
	case Disappear:
		return "item removed"
	default:
		return "step " + strconv.Itoa(int(s))
	}
}

// Op is one conditional write of a row or its tombstone, for rows that guard themselves.
type Op struct {
	Step       Step
	Target     *Target
	Mutation   Mutation
	rowText    string // text of the row key, for comparisons
	displayKey string // key of the row for people, if parts of it are masked; else ""
	sink       *Sink  // the sink that planned the op; nil in tests
	// error if no row can be made of an image, else nil; the change fails with this error after the write is durable
	changeErr error
}

var _ pipeline.Op = (*Op)(nil)

// String returns a line such as: put row PK="STATUS#paid" SK="2026-01-02#..." (stays).
func (o *Op) String() string {
	b := make([]byte, 0, 96)
	if o.Mutation.Tombstone {
		b = append(b, "tombstone row "...)
	} else {
		b = append(b, "put row "...)
	}
	b = append(b, o.KeyText()...)
	b = append(b, " ("...)
	b = append(b, o.Step.String()...)
	if o.changeErr != nil {
		b = append(append(b, "; the change goes to dead letters: "...), o.changeErr.Error()...)
	}
	return string(append(b, ')'))
}

// KeyText returns the row's key with masked parts, for people: PK="STATUS#paid" SK="2026-01-02#...".
func (o *Op) KeyText() string {
	if o.displayKey != "" {
		return o.displayKey
	}
	return o.Target.keyText(o.Mutation.PK, o.Mutation.SK)
}

// orderKey returns the text of the row key. If RefuseOtherItem is set, another item could have the same row, so the
// orderKey also contains the item's key. Then a change of one item does not replace a change of another item.
func (o *Op) orderKey() string {
	if o.Target.RefuseOtherItem {
		return string(o.Mutation.Source) + " " + o.rowText
	}
	return o.rowText
}

// Err returns the error with which the change fails after its write is durable; nil if the change succeeds.
func (o *Op) Err() error { return o.changeErr }

// Idle returns false: a change without effect has no Op.
func (o *Op) Idle() bool { return false }

func (o *Op) version() record.Version { return o.Mutation.Version }
func (o *Op) noEffectReason() string  { return "" }

// removalOp returns the op that puts a void tombstone ([Mutation.Void]). It is written if the store refuses the row
// permanently. If the op is not an update, no older row of the item is at the key, and removalOp returns nil. It also
// returns nil if the stored row belongs to another sink or another item.
func (o *Op) removalOp(cause error) *Op {
	_, isForeign := errors.AsType[*ForeignRowError](cause)
	_, isCollision := errors.AsType[*CollisionError](cause)
	isUpdate := o.Step == Update && !o.Mutation.Tombstone
	if isForeign || isCollision || !isUpdate {
		return nil
	}
	removal := *o
	removal.Step, removal.changeErr = Leave, cause
	removal.Mutation.Tombstone, removal.Mutation.Void, removal.Mutation.Attributes = true, true, nil
	return &removal
}

// keyText returns a row's key as explain shows it: PK="STATUS#paid" SK="2026-01-02#...".
func (t Target) keyText(pk, sk item.Value) string {
	b := make([]byte, 0, 64)
	b = pk.AppendJSON(append(append(b, t.PK...), '='))
	if t.SK != "" {
		b = sk.AppendJSON(append(append(append(b, ' '), t.SK...), '='))
	}
	return string(b)
}

// rowKeyText returns the key of r, in the form of keyText.
func (t Target) rowKeyText(r state.Row) string {
	pk, sk, _ := r.Decode() // MakeRow made it
	return t.keyText(pk, sk)
}
