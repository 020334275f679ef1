package view

import (
	"iter"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// queued is an op that waits in a line with others of its row, where rows guard
// themselves, or of its item, where items do.
type queued interface {
	*Op | *ClaimOp
	line() string
	version() record.Version
	quiet() bool    // it asks for nothing, and nothing was there before
	reason() string // why it asks for nothing
	refused() error // what its change fails with once it is durable; nil: nothing
}

// vacating is an op that its store may refuse for good: what takes the row away in its place,
// or nil where there is nothing to take away.
type vacating[O any] interface {
	queued
	vacated(flaw error) O
}

// batch writes each line once, by its highest version among the changes of one
// Write. What the others say is covered by that write if it succeeds. If it fails
// for good, the next lower version takes its place, as if the failed change had not
// been in the batch; if it may be tried again, all of the line's changes wait
// for it, so that none is lost when it fails for good later.
type batch[O queued] struct {
	ops   []entry[O]
	lines []line
	index map[string]int // of lines
	turns []turn[O]

	mutations []Mutation // of the turns, for the store
}

type entry[O queued] struct {
	op       O
	delivery int
	next     int // the line's next op, in the order of delivery; -1: none
	phase    phase
	err      error
}

type phase uint8

const (
	pending    phase = iota
	held             // the store holds it
	covered          // a later change of the batch wrote for it
	superseded       // a newer version was there
	waiting          // the store holds it, and another item has the row
	idle             // there was nothing to do
	failed
)

type line struct {
	first, last int // ops
	best        int // op that next returned
	settled     bool
}

// gather takes the ops of its kind into b, which is empty.
func (b *batch[O]) gather(ds []pipeline.Delivery) {
	for i := range ds {
		for _, o := range ds[i].Ops {
			op, ok := o.(O)
			if !ok {
				continue
			}
			if b.index == nil {
				b.index = make(map[string]int, len(ds))
			}
			if b.ops == nil {
				b.ops = make([]entry[O], 0, len(ds)+len(ds)/8)
				b.lines = make([]line, 0, len(ds)+len(ds)/8)
			}
			at := len(b.ops)
			b.ops = append(b.ops, entry[O]{op: op, delivery: i, next: -1})
			name := op.line()
			l, seen := b.index[name]
			if !seen {
				b.index[name] = len(b.lines)
				b.lines = append(b.lines, line{first: at, last: at})
				continue
			}
			b.ops[b.lines[l].last].next = at
			b.lines[l].last = at
		}
	}
}

// mostKept bounds what batches of rows keep for those to come.
const mostKept = 4096

// batches are those that are through, for the next Writes.
type batches[O queued] struct{ pool sync.Pool }

func (bs *batches[O]) get() *batch[O] {
	if b, ok := bs.pool.Get().(*batch[O]); ok {
		return b
	}
	return &batch[O]{}
}

func (bs *batches[O]) put(b *batch[O]) {
	if cap(b.ops) > mostKept {
		return
	}
	clear(b.ops)
	clear(b.turns)
	clear(b.index)
	clear(b.mutations)
	b.ops, b.lines, b.turns, b.mutations = b.ops[:0], b.lines[:0], b.turns[:0], b.mutations[:0]
	bs.pool.Put(b)
}

// turn is an op that is to be written for its line.
type turn[O queued] struct {
	line   int
	op     O
	joined bool // it belongs to the turn before it
}

// next is the highest version of each line that is not settled; nothing when all
// are. It stands until the next call.
func (b *batch[O]) next() []turn[O] {
	clear(b.turns)
	turns := b.turns[:0]
	for l := range b.lines {
		line := &b.lines[l]
		if line.settled {
			continue
		}
		line.best = -1
		if i := line.first; i == line.last && b.ops[i].phase == pending { // as most are
			line.best = i
			turns = append(turns, turn[O]{line: l, op: b.ops[i].op})
			continue
		}
		for i := range b.pending(l) {
			if line.best < 0 || b.ops[i].op.version().Compare(b.ops[line.best].op.version()) > 0 {
				line.best = i
			}
		}
		if line.best < 0 {
			line.settled = true
			continue
		}
		turns = append(turns, turn[O]{line: l, op: b.ops[line.best].op})
	}
	b.turns = turns
	return turns
}

// pending yields the ops of a line that nothing became of yet.
func (b *batch[O]) pending(l int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := b.lines[l].first; i >= 0; i = b.ops[i].next {
			if b.ops[i].phase == pending && !yield(i) {
				return
			}
		}
	}
}

// refuse takes a store's error of the op that next returned for a line. Where it is
// for good, and an older row of the item may be there, the op's next turn takes that away.
func refuse[O vacating[O]](b *batch[O], l int, err error) {
	best := b.ops[b.lines[l].best].op
	if !state.IsPermanent(err) || best.vacated(err) == nil {
		b.fail(l, err)
		return
	}
	for i := range b.pending(l) { // the change may be in the batch twice
		if b.ops[i].op.version().Compare(best.version()) == 0 {
			if v := b.ops[i].op.vacated(err); v != nil {
				b.ops[i].op = v
			}
		}
	}
}

// fail takes the error of the op that next returned for a line.
func (b *batch[O]) fail(l int, err error) {
	line := &b.lines[l]
	if state.IsPermanent(err) {
		b.ops[line.best].phase, b.ops[line.best].err = failed, err
		return
	}
	line.settled = true
	for i := range b.pending(l) {
		b.ops[i].phase, b.ops[i].err = failed, err
	}
}

// quiet tells whether none of a line's changes asks for anything, now or before.
func (b *batch[O]) quiet(l int) bool {
	for i := range b.pending(l) {
		if !b.ops[i].op.quiet() {
			return false
		}
	}
	return true
}

// park takes a line out of the turns until settle says what became of it.
func (b *batch[O]) park(l int) { b.lines[l].settled = true }

// settle takes what became of the op that next returned for a line, with its
// error where that is failed: an error that takes nothing back.
func (b *batch[O]) settle(l int, became phase, err error) {
	line := &b.lines[l]
	line.settled = true
	if i := line.first; i == line.last { // and so it is the best
		b.ops[i].phase, b.ops[i].err = became, err
		return
	}
	best := b.ops[line.best].op.version()
	for i := range b.pending(l) {
		e := &b.ops[i]
		switch {
		case became == superseded || became == idle:
			e.phase = became
		case e.op.version().Compare(best) == 0:
			e.phase, e.err = became, err
		case i < line.best:
			e.phase = covered
		default:
			e.phase = superseded
		}
	}
}

// finish sets the outcome of each delivery that has an op here, and names those that failed.
func (b *batch[O]) finish(ds []pipeline.Delivery, failures *pipeline.BatchError) {
	for i := 0; i < len(b.ops); {
		d, op := b.ops[i].delivery, b.ops[i].op
		best, whole := failed, true
		for ; i < len(b.ops) && b.ops[i].delivery == d; i++ {
			e := &b.ops[i]
			if e.phase == failed {
				failures.Add(d, e.err)
				whole = false
			} else {
				failures.Add(d, e.op.refused())
			}
			best = min(best, e.phase)
		}
		switch best {
		case held:
			ds[d].Outcome = pipeline.Written
		case covered:
			ds[d].Outcome = pipeline.Coalesced
		case waiting:
			ds[d].Outcome, ds[d].Reason = pipeline.NoEffect, ReasonCollision
		case idle:
			ds[d].Outcome, ds[d].Reason = pipeline.NoEffect, op.reason()
		default:
			if whole {
				ds[d].Outcome = pipeline.Superseded
			}
		}
	}
}
