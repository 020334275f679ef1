package view

import (
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// ForeignRowError reports that a row belongs to another sink. A row belongs to the view and pipeline that first wrote
// it. The error is permanent. Every store returns it, for every kind of row.
type ForeignRowError struct {
	Target         Target // target of the sink that may not write the row
	Row            state.Row
	View, Pipeline string // sink and pipeline that own the row; "" if no sink wrote it

	displayKey string // key of the row for people; the sink sets it, because only the sink has the mask
}

var _ redact.Redacted = (*ForeignRowError)(nil)

// Error names the row and both sinks.
func (e *ForeignRowError) Error() string {
	row := "a row"
	if e.displayKey != "" {
		row = "the row " + e.displayKey
	}
	return e.message(row)
}

// Redacted returns the error without the row.
func (e *ForeignRowError) Redacted() string { return e.message("a row") }

// Describe returns the class.
func (e *ForeignRowError) Describe() (class, field string) { return "foreign_row", "" }

func (e *ForeignRowError) message(row string) string {
	subject := fmt.Sprintf("view %q of pipeline %q: %s of table %s", e.Target.View, e.Target.Pipeline, row, e.Target.Name)
	if e.View == "" {
		return subject + " would replace an item that no sink made: give the view another table or another row key"
	}
	return fmt.Sprintf("%s belongs to the view %q of pipeline %q: give one of the two another table or another row key",
		subject, e.View, e.Pipeline)
}

// keyedOp is an op that knows the key of its row.
type keyedOp interface {
	stateRow() state.Row
	KeyText() string
}

func (o *Op) stateRow() state.Row {
	row, _ := state.MakeRow(o.Mutation.PK, o.Mutation.SK)
	return row
}

func (o *ClaimOp) stateRow() state.Row { return o.Row }

func (o *GroupOp) stateRow() state.Row { return o.Row() }

// showForeignRow returns err. If err is a ForeignRowError, it sets the display key first. If one of ops writes the row,
// the display key is the KeyText of this op. Otherwise the change leaves the row, and the display key is the row's key,
// masked as a whole.
func showForeignRow[O keyedOp](err error, mask *mask.Mask, ops ...O) error {
	e, ok := errors.AsType[*ForeignRowError](err)
	if !ok {
		return err
	}
	for _, op := range ops {
		if op.stateRow() == e.Row {
			e.displayKey = op.KeyText()
			return err
		}
	}
	e.displayKey = mask.Text(e.Target.rowKeyText(e.Row))
	return err
}
