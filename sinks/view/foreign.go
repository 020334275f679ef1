package view

import (
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// ForeignRowError says that a row belongs to another sink than the one that would write
// it: to the one that first wrote it, by view and pipeline. It is permanent, and the same on
// every store and for every kind of row.
type ForeignRowError struct {
	Target         Target    // of the sink that may not write the row
	Row            state.Row // which
	View, Pipeline string    // of the sink that the row belongs to; "" of an item that no sink made

	shown string // the row's key as people are shown it: a sink's to fill in, which knows what is hidden
}

var _ redact.Redacted = (*ForeignRowError)(nil)

// Error names the row and both sinks.
func (e *ForeignRowError) Error() string {
	row := "a row"
	if e.shown != "" {
		row = "the row " + e.shown
	}
	return e.text(row)
}

// Redacted leaves out the row.
func (e *ForeignRowError) Redacted() string { return e.text("a row") }

// Describe is its class.
func (e *ForeignRowError) Describe() (class, field string) { return "foreign_row", "" }

func (e *ForeignRowError) text(row string) string {
	of := fmt.Sprintf("view %q of pipeline %q: %s of table %s", e.Target.View, e.Target.Pipeline, row, e.Target.Name)
	if e.View == "" {
		return of + " would replace an item that no sink made: give the view another table or another row key"
	}
	return fmt.Sprintf("%s belongs to the view %q of pipeline %q: give one of the two another table or another row key", of, e.View, e.Pipeline)
}

// rowOp is an op of a sink, by the row that it is of.
type rowOp interface {
	at() state.Row
	KeyText() string
}

func (o *Op) at() state.Row {
	row, _ := state.MakeRow(o.Mutation.PK, o.Mutation.SK)
	return row
}

func (o *ClaimOp) at() state.Row { return o.Row }

func (o *GroupOp) at() state.Row { return o.Row() }

// showForeign gives a ForeignRowError the key of its row as people are shown it: as the op
// shows it that the row is of, and else, of a row that a change leaves, under the mask.
func showForeign[O rowOp](err error, mask *mask.Mask, ops ...O) error {
	e, ok := errors.AsType[*ForeignRowError](err)
	if !ok {
		return err
	}
	for _, op := range ops {
		if op.at() == e.Row {
			e.shown = op.KeyText()
			return err
		}
	}
	e.shown = mask.Text(string(e.Target.appendRow(nil, e.Row)))
	return err
}
