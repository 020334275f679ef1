package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"
)

// batch is one Write, and the calls before and after it.
type batch struct {
	phase phase
	items []*item
	lanes []*lane // of items, each once
	n     int     // the sink gets so many of items; the keys of the later ones are in quarantine
	bytes int64
	at    time.Time               // when it was formed
	ctx   context.Context         // of the calls
	end   context.CancelCauseFunc // ends ctx; nil where no partition can be revoked
	again bool                    // it counts as no try: a partition was revoked and ctx cancelled, or a plan failed
	ds    []Delivery
	errs  []error // the result of each item

	chunks    []chunk // packed; then there are no items
	packs     []packWork
	unpacked  [][]item
	coalesced int64 // by WriteSorted

	keys    []Key // of lanes
	held    []bool
	err     error // of the last call
	alone   int   // the item that is isolated
	sending context.Context
	began   time.Time                            // of sending
	sent    func(took time.Duration, failed int) // ends the span of sending; nil before
}

// phase is the call that the writer of a batch makes without the lock. Its result is a step, which chooses the next.
//
//	phase      call                                          then
//	planning   Plan of what lost its plan with its page      asking; settled if a plan fails
//	asking     Quarantine.Held of the keys                   sending; settled if no key is left, or it fails
//	sending    Write of all                                  settled; isolating if one of it spoils the batch
//	isolating  Write of one                                  isolating the next; settled after the last
//	packing    the chunks that are not packed are            sorting; unpacking if a key of it waits
//	sorting    Quarantine.Held of the keys, and WriteSorted  settled; unpacking if it fails
//	unpacking  deliveries are made again of what was packed  settled: they are ready again, for Write
type phase uint8

const (
	planning phase = iota
	asking
	sending
	isolating
	packing
	sorting
	unpacking
	settled
)

func (b *batch) reset() {
	clear(b.items)
	clear(b.lanes)
	clear(b.ds)
	clear(b.errs)
	clear(b.keys)
	*b = batch{items: b.items[:0], lanes: b.lanes[:0], ds: b.ds[:0], errs: b.errs[:0], keys: b.keys[:0]}
}

func (b *batch) add(it *item, l *lane) {
	b.items = append(b.items, it)
	it.lane = l
	b.bytes += it.size
	if l.batch != b {
		l.batch, l.state = b, writing
		b.lanes = append(b.lanes, l)
	}
}

// begin makes a batch ready for its first call.
func (b *batch) begin(s *scheduler, now time.Time) {
	b.n, b.at, b.ctx = len(b.items), now, s.run.hard
	if s.run.controlled != nil {
		b.ctx, b.end = context.WithCancelCause(s.run.hard)
	}
	b.errs = slices.Grow(b.errs, b.n)[:b.n]
	for i := range b.chunks {
		b.n += b.chunks[i].n
	}
	switch {
	case b.chunks != nil:
		b.phase = packing
	case !slices.ContainsFunc(b.items, func(it *item) bool { return it.unplanned }):
		s.planned(b)
	}
}

// revokedHard reports whether some of a batch is of a partition that is revoked hard.
func (b *batch) revokedHard() bool {
	return slices.ContainsFunc(b.items, func(it *item) bool { return it.page.part.state == revokedHard }) ||
		slices.ContainsFunc(b.chunks, func(c chunk) bool { return c.page.part.state == revokedHard })
}

// fail gives all deliveries of a batch the same error.
func (b *batch) fail(err error) {
	for i := range b.errs {
		b.errs[i] = err
	}
}

// writer makes the calls of a batch, and then those of the next one, while there is one.
func (s *scheduler) writer() {
	var b *batch
	for {
		s.run.on(func(now time.Time) {
			if b != nil {
				b = s.called(b, now)
			} else {
				s.starting = false
				b = s.nextBatch(now)
			}
			if b == nil {
				s.run.move(-1)
			}
		})
		if b == nil {
			return
		}
		b.call(s.route, s.run)
	}
}

// call makes the call of the batch's phase.
func (b *batch) call(rt *route, r *run) {
	switch b.phase {
	case planning:
		b.err = rt.planAgain(b)
	case asking:
		b.held, b.err = r.callQuarantine(b.ctx, rt.Name, b.keys)
	case sending:
		for _, it := range b.items[:b.n] {
			b.ds = append(b.ds, it.d)
		}
		b.send(rt)
		b.err = rt.call(b.sending, b.ds, b.errs[:b.n])
	case isolating:
		i := b.alone
		b.ds[i] = b.items[i].d
		b.err = rt.call(b.sending, b.ds[i:i+1:i+1], b.errs[i:i+1])
	case packing:
		b.pack()
	case sorting:
		b.coalesced, b.err = rt.writeSorted(r, b)
	case unpacking:
		b.unpacked, b.err = r.unpackItems(rt, b.chunks)
	}
}

// send begins the span of a batch that is given to the sink.
func (b *batch) send(rt *route) {
	b.sending, b.sent = rt.tel.write(b.ctx, b)
	b.began = time.Now()
}

// called takes the result of a call, and returns the batch whose call is next: the same one until it is settled.
func (s *scheduler) called(b *batch, now time.Time) *batch {
	switch b.phase {
	case planning:
		s.planned(b)
	case asking:
		s.asked(b)
	case sending:
		s.written(b)
	case isolating:
		s.isolated(b)
	default:
		s.calledPacked(b)
	}
	if b.phase != settled {
		return b
	}
	s.run.relief = true
	if b.sent != nil {
		s.observe(b, now)
	}
	s.endWrite(b)
	if b.chunks != nil {
		s.settlePacked(b)
	} else {
		s.settle(b, now)
	}
	b.reset()
	s.batches = append(s.batches, b)
	return s.nextBatch(now)
}

// endWrite ends the context of a batch, and drops it from those that are written.
func (s *scheduler) endWrite(b *batch) {
	if b.end != nil {
		b.end(nil)
	}
	i := slices.Index(s.writing, b)
	s.writing = slices.Delete(s.writing, i, i+1)
}

// observe ends the span of a batch that was given to the sink.
func (s *scheduler) observe(b *batch, now time.Time) {
	failed := 0
	if b.chunks != nil && b.err != nil {
		failed = b.n
	}
	for _, err := range b.errs[:min(b.n, len(b.errs))] {
		if err != nil {
			failed++
		}
	}
	sent, took := b.sent, now.Sub(b.began)
	s.run.fx.logs = append(s.run.fx.logs, func() { sent(took, failed) })
}

// planAgain plans the deliveries that were cloned since their plan. If a plan fails, nothing of the batch is tried:
// the failed change must be the first of its key again.
func (r *route) planAgain(b *batch) (err error) {
	for _, it := range b.items {
		if it.unplanned {
			it.unplanned = false
			if it.fail = r.plan(&it.d); it.fail != nil {
				err = it.fail.err
			}
		}
	}
	return err
}

func (s *scheduler) planned(b *batch) {
	switch {
	case b.err != nil:
		b.again, b.phase = true, settled
		b.fail(errHeldBack)
	case s.run.p.o.Quarantine != nil:
		b.phase = asking
		for _, l := range b.lanes {
			b.keys = append(b.keys, l.key)
		}
	default:
		b.unsend()
	}
}

// asked sends what is of no held key. An error fails all of the batch.
func (s *scheduler) asked(b *batch) {
	if b.err == nil && len(b.held) != len(b.keys) {
		b.err = errs.Errorf("it answered %d of %d keys", len(b.held), len(b.keys))
	}
	if b.err != nil {
		b.phase = settled
		b.fail(quarantineFailed(b.err))
		return
	}
	for i, l := range b.lanes {
		l.skipped = b.held[i]
	}
	b.unsend()
}

// unsend moves the changes of held keys, and those of partitions that were revoked meanwhile, behind the others, which
// are sent.
func (b *batch) unsend() {
	b.phase = sending
	var out []*item
	b.n = 0
	for _, it := range b.items {
		if it.lane.skipped || it.page.part.state.revoked() {
			out = append(out, it)
			continue
		}
		b.items[b.n] = it
		b.n++
	}
	copy(b.items[b.n:], out)
	for i, it := range out {
		b.errs[b.n+i] = errHeldBack
		if it.lane.skipped {
			it.fail, b.errs[b.n+i] = errQuarantined, errQuarantined.err
		}
	}
	if b.n == 0 {
		b.phase = settled
	}
}

// written decides who failed where a Write failed as a whole. A transient error is everyone's. A panic, or a permanent
// error of several deliveries, has a culprit: each is written once more by itself.
func (s *scheduler) written(b *batch) {
	b.phase = settled
	if b.err == nil {
		return
	}
	_, panicked := errors.AsType[*PanicError](b.err)
	_, transient := Retryable(b.err)
	if b.ctx.Err() != nil || !panicked && (transient || IsFatal(b.err) || b.n == 1) {
		for i := range b.errs[:b.n] {
			b.errs[i] = b.err
		}
		return
	}
	s.isolate(b, 0)
}

// isolated takes the result of a delivery that was written alone.
func (s *scheduler) isolated(b *batch) {
	i := b.alone
	if b.err != nil {
		b.errs[i] = b.err
	}
	b.items[i].lane.skipped = b.errs[i] != nil && (s.route.retried(b.errs[i]) || s.run.quarantines(s.route, classWrite))
	s.isolate(b, i+1)
}

// isolate chooses the next delivery that is written alone. The later ones of a key are held back behind one that
// failed and comes again, or holds its key.
func (s *scheduler) isolate(b *batch, from int) {
	b.phase = settled
	for i := from; i < b.n; i++ {
		if it := b.items[i]; !it.lane.skipped && b.ctx.Err() == nil && !it.page.part.state.revoked() {
			b.phase, b.alone = isolating, i
			return
		}
		b.errs[i] = errHeldBack
	}
}

// errHeldBack is the error of a delivery that was not tried, because an earlier
// one of its key failed.
var errHeldBack = Transient(errs.New("held back behind an earlier change of its key"))
