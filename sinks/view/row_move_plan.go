package view

import (
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// planOps plans the ops that move the item's row from its location before the change to its location after the
// change:
//
//	before     after      ops
//	none       none       none: NoEffect
//	none       at K       put K                  enters
//	at K       at K       put K                  stays, the whole row
//	at K       at L       put L, tombstone K     moves
//	at K       none       tombstone K            leaves, or the item was removed
//
// Each op depends only on the version of its own row and tombstone. At each row key, the op with the highest version
// wins, so any order of delivery has the same result. A row that stays is written even if its columns did not change.
// So its version rises, and a row that an earlier failure left wrong is corrected.
func (s *Sink) planOps(d *pipeline.Delivery, before, after rowLocation) error {
	hadRow, hasRow := before.hasRow(), after.hasRow()
	sameKey := hadRow && hasRow && before.key.equal(&after.key)
	switch {
	case !hadRow && !hasRow:
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonWhen
		if before.reason == ReasonSparse || after.reason == ReasonSparse {
			d.Reason = ReasonSparse
		}
		return nil
	case !hadRow:
		return s.addPut(d, Enter, &after.key)
	case after.reason == noItem:
		s.addTombstone(d, Disappear, &before.key)
		return nil
	case !hasRow:
		s.addTombstone(d, Leave, &before.key)
		return nil
	case sameKey && d.Change.Inserted(): // an older item may have expired, see FoundNoItem
		return s.addPut(d, Enter, &after.key)
	case sameKey:
		return s.addPut(d, Update, &after.key)
	default:
		// The new row comes first, so that a reader between the two writes may see the row twice, but always sees it.
		if err := s.addPut(d, MoveTo, &after.key); err != nil {
			return err
		}
		s.addTombstone(d, MoveFrom, &before.key)
		return nil
	}
}

// addPut adds the op that puts the row of the new image at k.
func (s *Sink) addPut(d *pipeline.Delivery, step Step, k *rowKey) error {
	op := s.newOp(d, step, k)
	columns, err := s.columns(op.columns[:0], &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	if err != nil {
		return err
	}
	op.Mutation.Attributes = columns
	d.Ops = append(d.Ops, &op.Op)
	return nil
}

// addTombstone adds the op that puts the tombstone of the row at k.
func (s *Sink) addTombstone(d *pipeline.Delivery, step Step, k *rowKey) {
	op := s.newOp(d, step, k)
	op.Mutation.Tombstone = true
	d.Ops = append(d.Ops, &op.Op)
}

// opWithColumns is an op with memory for up to four columns, so that most rows need one allocation.
type opWithColumns struct {
	Op
	columns [4]state.Column
}

// newOp returns an op on the row at k, without columns.
func (s *Sink) newOp(d *pipeline.Delivery, step Step, k *rowKey) *opWithColumns {
	pk, sk, text := k.attributeValues(d)
	op := pipeline.Alloc[opWithColumns](d)
	op.Step, op.Target, op.rowText, op.displayKey, op.sink = step, &s.target, text, k.displayText, s
	m := &op.Mutation
	m.PK, m.SK, m.Version, m.Source = pk, sk, d.Change.Version, d.Change.Key
	m.LikelyNew = step == Enter || step == MoveTo
	return op
}

// columns appends the attributes of a row besides its key. It leaves out attributes that are missing, NULL or empty.
func (s *Sink) columns(cs []state.Column, scope *template.Scope) ([]state.Column, error) {
	if s.copier != nil {
		return s.copier.columns(cs, scope.Item), nil
	}
	cs = slices.Grow(cs, len(s.attributes))
	for _, a := range s.attributes {
		v, _, err := a.Template.Value(*scope)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		if v.Exists() {
			cs = append(cs, state.Column{Name: a.Name, Value: v})
		}
	}
	return cs, nil
}
