package view

import (
	"iter"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// orderedOp is an op of a view. If several ops of a Write have the same orderKey, the version decides which op is
// written. The orderKey is the row if rows guard themselves; otherwise it is the item.
type orderedOp interface {
	*Op | *ClaimOp | *ItemRowsOp
	orderKey() string
	version() record.Version
	Idle() bool             // the change requests no row, and its old image requested no row
	noEffectReason() string // reason for the outcome NoEffect
	Err() error             // error with which the change fails after its write is durable; nil if it succeeds
}

// replaceableOp is an op that a store may refuse permanently. removalOp returns the op that removes the row instead;
// nil if there is nothing to remove.
type replaceableOp[O any] interface {
	orderedOp
	removalOp(cause error) O
}

// batch holds the ops of one Write, by orderKey. For each orderKey, the op with the highest version is tried first:
//
//   - If the write succeeds, the other ops of the key need no write.
//   - If the write fails permanently, the op that removes the row is tried, if there is one (removalOp). Otherwise the
//     op with the next lower version is tried, as if the failed change were not in the batch.
//   - If the write fails temporarily, all ops of the key fail with the same error, and all their changes are delivered
//     again. So if a later try of the highest version fails permanently, the ops with lower versions can still be
//     tried.
type batch[O orderedOp] struct {
	ops      []opEntry[O]
	keys     []keyOps
	index    map[string]int // index in keys, by orderKey
	attempts []attempt[O]

	mutations []Mutation // mutations of the attempts, for the store
}

// opEntry is an op with its progress.
type opEntry[O orderedOp] struct {
	op       O
	delivery int // index of the delivery
	next     int // index of the key's next op, in the order of delivery; -1 if there is none
	state    opState
	err      error
}

// opState is the progress of an op. The outcome of a delivery is the first of these states that one of its ops has.
type opState uint8

const (
	pending    opState = iota
	written            // the store has the change
	coalesced          // a later change of the batch was written instead
	superseded         // a newer version is stored
	waiting            // the claim is stored, and another item owns the row
	noEffect           // nothing had to be written
	failed
)

// keyOps is the list of the ops of one key.
type keyOps struct {
	first, last int  // indexes of batch.ops
	triedOp     int  // index of the op in the current attempt
	isClosed    bool // no op is tried any more
}

// addOps adds the ops of type O. The batch must be empty.
func (b *batch[O]) addOps(ds []pipeline.Delivery) {
	for i := range ds {
		for _, planned := range ds[i].Ops {
			op, ok := planned.(O)
			if !ok {
				continue
			}
			if b.index == nil {
				b.index = make(map[string]int, len(ds))
				b.ops, b.keys = make([]opEntry[O], 0, len(ds)), make([]keyOps, 0, len(ds))
			}
			b.addOp(op, i)
		}
	}
}

// addOp adds an op of a delivery at the end of the ops of its key.
func (b *batch[O]) addOp(op O, delivery int) {
	opIndex := len(b.ops)
	b.ops = append(b.ops, opEntry[O]{op: op, delivery: delivery, next: -1})
	orderKey := op.orderKey()
	k, hasOps := b.index[orderKey]
	if !hasOps {
		b.index[orderKey] = len(b.keys)
		b.keys = append(b.keys, keyOps{first: opIndex, last: opIndex})
		return
	}
	b.ops[b.keys[k].last].next = opIndex
	b.keys[k].last = opIndex
}

// maxPooledOps bounds the memory of a pooled batch.
const maxPooledOps = 4096

// batchPool holds finished batches, so that the next Writes can reuse their memory.
type batchPool[O orderedOp] struct{ pool sync.Pool }

func (p *batchPool[O]) get() *batch[O] {
	if b, ok := p.pool.Get().(*batch[O]); ok {
		return b
	}
	return &batch[O]{}
}

func (p *batchPool[O]) put(b *batch[O]) {
	if cap(b.ops) > maxPooledOps {
		return
	}
	clear(b.ops)
	clear(b.attempts)
	clear(b.index)
	clear(b.mutations)
	b.ops, b.keys, b.attempts, b.mutations = b.ops[:0], b.keys[:0], b.attempts[:0], b.mutations[:0]
	p.pool.Put(b)
}

// attempt is the op of a key that the next round writes.
type attempt[O orderedOp] struct {
	key      int // index in batch.keys
	op       O
	endsMove bool // only for an Op: it is written in one transaction with the attempt before it
	last     bool // only for an ItemRowsOp: its current transaction is its last one
}

// nextAttempts returns an attempt for each key that is not closed: its pending op with the highest version. The slice
// is valid until the next call.
func (b *batch[O]) nextAttempts() []attempt[O] {
	clear(b.attempts)
	attempts := b.attempts[:0]
	for k := range b.keys {
		key := &b.keys[k]
		if key.isClosed {
			continue
		}
		key.triedOp = b.newestPending(k)
		if key.triedOp < 0 {
			key.isClosed = true
			continue
		}
		attempts = append(attempts, attempt[O]{key: k, op: b.ops[key.triedOp].op})
	}
	b.attempts = attempts
	return attempts
}

// newestPending returns the index of the pending op of key k with the highest version; -1 if no op is pending.
func (b *batch[O]) newestPending(k int) int {
	newest := -1
	for i := range b.pending(k) {
		if newest < 0 || b.ops[i].op.version().Compare(b.ops[newest].op.version()) > 0 {
			newest = i
		}
	}
	return newest
}

// pending yields the indexes of the pending ops of key k.
func (b *batch[O]) pending(k int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := b.keys[k].first; i >= 0; i = b.ops[i].next {
			if b.ops[i].state == pending && !yield(i) {
				return
			}
		}
	}
}

// failOrRemove handles the error of the tried op of key k. After a permanent error, an older row of the item may still
// be stored. So if the op has a removalOp, failOrRemove replaces the op by the removalOp, and the next attempt removes
// the row. In all other cases the op fails.
func failOrRemove[O replaceableOp[O]](b *batch[O], k int, err error) {
	tried := b.ops[b.keys[k].triedOp].op
	removesRow := state.IsPermanent(err) && tried.removalOp(err) != nil
	if !removesRow {
		b.fail(k, err)
		return
	}

	// The change may be in the batch several times.
	for i := range b.pending(k) {
		op := b.ops[i].op
		isSameChange := op.version().Compare(tried.version()) == 0
		if !isSameChange {
			continue
		}
		if removal := op.removalOp(err); removal != nil {
			b.ops[i].op = removal
		}
	}
}

// fail sets the error of the tried op of key k. An error that is not permanent fails all pending ops of the key.
func (b *batch[O]) fail(k int, err error) {
	key := &b.keys[k]
	if state.IsPermanent(err) {
		b.ops[key.triedOp].state, b.ops[key.triedOp].err = failed, err
		return
	}
	key.isClosed = true
	for i := range b.pending(k) {
		b.ops[i].state, b.ops[i].err = failed, err
	}
}

// deliveryOf returns the index of the delivery of an attempt.
func (b *batch[O]) deliveryOf(a attempt[O]) int { return b.ops[b.keys[a.key].triedOp].delivery }

// failLost fails the lost attempts if more than maxLostRounds rounds were lost to other writers.
func (b *batch[O]) failLost(lost []attempt[O], lostRounds int) {
	if lostRounds <= maxLostRounds {
		return
	}
	for _, a := range lost {
		b.fail(a.key, pipeline.Transient(raceError{}))
	}
}

// allIdle reports whether all pending ops of key k are idle: no new image and no old image requests a row.
func (b *batch[O]) allIdle(k int) bool {
	for i := range b.pending(k) {
		if !b.ops[i].op.Idle() {
			return false
		}
	}
	return true
}

// settle sets the result of the tried op of key k, and of the key's other pending ops, which need no write any more.
// err is the error of a change that fails although its write is durable.
func (b *batch[O]) settle(k int, state opState, err error) {
	key := &b.keys[k]
	key.isClosed = true
	triedVersion := b.ops[key.triedOp].op.version()
	for i := range b.pending(k) {
		entry := &b.ops[i]
		switch {
		case state == superseded || state == noEffect:
			entry.state = state
		case entry.op.version().Compare(triedVersion) == 0:
			entry.state, entry.err = state, err
		case i < key.triedOp: // an older version that was delivered before
			entry.state = coalesced
		default: // an older version that was delivered later
			entry.state = superseded
		}
	}
}

// setOutcomes sets the outcome of each delivery with an op in the batch. It adds the errors of failed deliveries to
// failures.
func (b *batch[O]) setOutcomes(ds []pipeline.Delivery, failures *pipeline.BatchError) {
	for first := 0; first < len(b.ops); {
		delivery := b.ops[first].delivery
		end := first + 1
		for end < len(b.ops) && b.ops[end].delivery == delivery {
			end++
		}
		setOutcome(&ds[delivery], b.ops[first:end])
		for i := first; i < end; i++ {
			failures.Add(delivery, b.ops[i].failure())
		}
		first = end
	}
}

// failure returns the error that the op's delivery fails with; nil if it does not fail.
func (e *opEntry[O]) failure() error {
	if e.state == failed {
		return e.err
	}
	return e.op.Err()
}

// setOutcome sets the outcome of a delivery: the lowest state of its ops. The outcome is not set if all ops failed, or
// if some failed and the others are superseded.
func setOutcome[O orderedOp](d *pipeline.Delivery, ops []opEntry[O]) {
	lowest, anyFailed := failed, false
	for i := range ops {
		lowest = min(lowest, ops[i].state)
		anyFailed = anyFailed || ops[i].state == failed
	}

	switch lowest {
	case written:
		d.Outcome = pipeline.Written
	case coalesced:
		d.Outcome = pipeline.Coalesced
	case superseded:
		if !anyFailed {
			d.Outcome = pipeline.Superseded
		}
	case waiting:
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonCollision
	case noEffect:
		d.Outcome, d.Reason = pipeline.NoEffect, ops[0].op.noEffectReason()
	}
}
