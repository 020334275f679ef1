package view

import (
	"errors"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Step says why a row is written.
type Step uint8

// The steps of a row's life.
const (
	Enter     Step = iota + 1 // the item has a row now and had none
	Update                    // the row stays at its key
	MoveTo                    // the row is at another key now: this one
	MoveFrom                  // the row was at this key, and is at another one now
	Leave                     // the item has no row any more: its condition or its key says so
	Disappear                 // the item is gone
)

// String is what explain shows of the step.
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

// Op is one conditional write that a change means: a row that is put, or a tombstone.
type Op struct {
	Step     Step
	Target   *Target
	Mutation Mutation
	row      string // the row key as one comparable text
	shown    string // the row key as people are shown it, where a mask decides
	sink     *Sink  // that planned it; nil: none did
	flaw     error  // of the new image: once the write is durable the change fails with it; nil: none
}

var _ pipeline.Op = (*Op)(nil)

// String is a line such as: put row PK="STATUS#paid" SK="2026-01-02#..." (stays).
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
	if o.flaw != nil {
		b = append(append(b, "; the change goes to dead letters: "...), o.flaw.Error()...)
	}
	return string(append(b, ')'))
}

// KeyText is the row's key as people are shown it, with what is hidden masked:
// PK="STATUS#paid" SK="2026-01-02#...".
func (o *Op) KeyText() string {
	if o.shown != "" {
		return o.shown
	}
	return string(o.Target.appendKey(nil, o.Mutation.PK, o.Mutation.SK))
}

func (o *Op) line() string            { return o.row }
func (o *Op) version() record.Version { return o.Mutation.Version }
func (o *Op) quiet() bool             { return false }
func (o *Op) reason() string          { return "" }
func (o *Op) refused() error          { return o.flaw }

// vacated is the void tombstone in place of a row that the store refused for good, and whose
// place may have an older row of the item; nil of an op that is of another kind.
func (o *Op) vacated(flaw error) *Op {
	if _, foreign := errors.AsType[*ForeignRowError](flaw); foreign || o.Step != Update || o.Mutation.Tombstone {
		return nil
	}
	v := *o
	v.Step, v.flaw = Leave, flaw
	v.Mutation.Tombstone, v.Mutation.Void, v.Mutation.Attributes = true, true, nil
	return &v
}

// appendKey appends a row's key as explain shows it: PK="STATUS#paid" SK="2026-01-02#...".
func (t Target) appendKey(b []byte, pk, sk item.Value) []byte {
	b = append(append(b, t.PK...), '=')
	b = pk.AppendJSON(b)
	if t.SK != "" {
		b = append(append(append(b, ' '), t.SK...), '=')
		b = sk.AppendJSON(b)
	}
	return b
}

// appendRow is appendKey of a row.
func (t Target) appendRow(b []byte, r state.Row) []byte {
	pk, sk, _ := r.Decode() // MakeRow made it
	return t.appendKey(b, pk, sk)
}
