package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// move plans the ops that move the item's row from where it was to where it is:
//
//	was        is         ops
//	nowhere    nowhere    none: NoEffect
//	nowhere    at K       put K                  enters
//	at K       at K       put K                  stays, the whole row
//	at K       at L       put L, tombstone K     moves
//	at K       nowhere    tombstone K            leaves, or the item is gone
//
// Each op depends only on the version of its own row and tombstone. The op with the highest version decides what is
// stored at a row key, so any order of delivery has the same result. A row that stays is written even if its columns
// did not change: its version rises, and the leftovers of an earlier failure are repaired.
func (s *Sink) move(d *pipeline.Delivery, was, is place) error {
	switch {
	case was.reason != "" && is.reason != "":
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonWhen
		if was.reason == ReasonSparse || is.reason == ReasonSparse {
			d.Reason = ReasonSparse
		}
		return nil
	case was.reason != "":
		return s.put(d, Enter, &is.key)
	case is.reason == gone:
		s.addTombstone(d, Disappear, &was.key)
		return nil
	case is.reason != "":
		s.addTombstone(d, Leave, &was.key)
		return nil
	case was.key.is(&is.key):
		return s.put(d, Update, &is.key)
	default:
		// The new row first: a reader between the two sees it twice rather than not at all.
		if err := s.put(d, MoveTo, &is.key); err != nil {
			return err
		}
		s.addTombstone(d, MoveFrom, &was.key)
		return nil
	}
}

// put adds the row of the new image at k.
func (s *Sink) put(d *pipeline.Delivery, step Step, k *rowKey) error {
	op := s.op(d, step, k)
	columns, err := s.columns(op.columns[:0], &template.Scope{Change: d.Change, Item: itemOf(d.Change)})
	if err != nil {
		return err
	}
	op.Mutation.Attributes = columns
	d.Ops = append(d.Ops, &op.Op)
	return nil
}

// addTombstone adds the tombstone of the row at k.
func (s *Sink) addTombstone(d *pipeline.Delivery, step Step, k *rowKey) {
	op := s.op(d, step, k)
	op.Mutation.Tombstone = true
	d.Ops = append(d.Ops, &op.Op)
}

// roomyOp is an op with memory for the columns of most rows.
type roomyOp struct {
	Op
	columns [4]state.Column
}

func (s *Sink) op(d *pipeline.Delivery, step Step, k *rowKey) *roomyOp {
	pk, sk, text := k.values(d)
	op := pipeline.Alloc[roomyOp](d)
	op.Step, op.Target, op.row, op.shown, op.sink = step, &s.target, text, k.shown, s
	m := &op.Mutation
	m.PK, m.SK, m.Version, m.Source = pk, sk, d.Change.Version, d.Change.Key
	m.Fresh = step == Enter || step == MoveTo
	return op
}
