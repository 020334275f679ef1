package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// batch is one Write of a sink, with the calls before and after it. One goroutine, its writer, makes these calls.
// Between two steps of the run, only the writer uses the batch.
type batch struct {
	phase      phase
	deliveries []*queuedDelivery
	lanes      []*lane // the lanes of deliveries, each once
	// deliveries[:count] are written, and the rest is not. In a packed batch, count is the number of the deliveries of
	// all chunks.
	count    int
	bytes    int64
	formedAt time.Time
	ctx      context.Context         // context of the calls
	cancel   context.CancelCauseFunc // cancels ctx; nil if the source does not control the run
	// noAttempt reports that the batch does not count as an attempt: ctx was cancelled for a revoked partition, or a plan
	// failed.
	noAttempt      bool
	sinkDeliveries []Delivery // the sink receives these: copies of deliveries[:count]
	errs           []error    // the result of each delivery; empty in a packed batch

	// A packed batch has chunks and no deliveries.
	chunks    []chunk
	packs     []packWork
	unpacked  [][]queuedDelivery // the deliveries of each chunk, unpacked
	unpackErr error              // of unpacking
	coalesced int                // deliveries that WriteSorted coalesced

	keys          []item.Key // the keys of lanes
	quarantined   []bool     // for each of keys: whether it is in quarantine
	err           error      // the error of the last call
	isolatedIndex int        // index of the delivery that is written alone
	sendCtx       context.Context
	endSpan       func(ended time.Time, failed int) // ends the span of the sink's calls; nil before the first call
}

// phase is the call that the writer of a batch makes without the lock. A step handles the result of the call, and
// chooses the next phase.
//
//	phase         call                                            next phase
//	planning      Plan of the deliveries that were cloned         checkingKeys, or sending; settled if a plan fails
//	checkingKeys  HasMarks of the keys                            sending; settled if no key is left, or after an error
//	sending       Write of all                                    settled; isolating if one delivery may be the cause
//	                                                              of the error
//	isolating     Write of one                                    isolating for the next one; settled after the last
//	packing       packs the chunks that are not packed yet        sorting; unpacking if a lane exists or it is too large
//	sorting       HasMarks of the keys, then WriteSorted          settled; unpacking after an error or a quarantined key
//	unpacking     unpacks the deliveries                          settled: they are ready again, for Write
//
// begin chooses the first phase: packing for a packed batch; planning if a delivery lost its plan; checkingKeys if
// there is a Quarantine; else sending. A packed batch can be cancelled, for a revoked partition or by a hard stop. It
// is then settled without unpacking: its deliveries are ready again, or pending. Chunks of paused partitions are not
// unpacked either: keepPacked takes these chunks out of the batch.
type phase uint8

const (
	planning phase = iota
	checkingKeys
	sending
	isolating
	packing
	sorting
	unpacking
	settled
)

func (b *batch) reset() {
	clear(b.deliveries)
	clear(b.lanes)
	clear(b.sinkDeliveries)
	clear(b.errs)
	clear(b.keys)
	*b = batch{deliveries: b.deliveries[:0], lanes: b.lanes[:0], sinkDeliveries: b.sinkDeliveries[:0], errs: b.errs[:0],
		keys: b.keys[:0]}
}

func (b *batch) add(delivery *queuedDelivery, lane *lane) {
	b.deliveries = append(b.deliveries, delivery)
	delivery.lane = lane
	b.bytes += delivery.size
	if lane.batch != b {
		lane.batch = b
		lane.enter(writing)
		b.lanes = append(b.lanes, lane)
	}
}

// begin prepares a batch for its first call, and chooses the phase of that call.
func (b *batch) begin(s *scheduler, now time.Time) {
	b.formedAt, b.ctx = now, s.run.hardCtx
	if s.run.controlled != nil {
		b.ctx, b.cancel = context.WithCancelCause(s.run.hardCtx)
	}
	if b.chunks != nil {
		for i := range b.chunks {
			b.count += b.chunks[i].count
		}
		b.phase = packing
		return
	}
	b.count = len(b.deliveries)
	b.errs = slices.Grow(b.errs, b.count)[:b.count]
	isUnplanned := func(delivery *queuedDelivery) bool { return delivery.unplanned }
	if slices.ContainsFunc(b.deliveries, isUnplanned) {
		b.phase = planning
		return
	}
	s.checkOrSend(b)
}

// isRevokedHard reports whether a batch has a delivery of a partition that is revoked hard.
func (b *batch) isRevokedHard() bool {
	for _, delivery := range b.deliveries {
		if delivery.page.partition.state == revokedHard {
			return true
		}
	}
	for i := range b.chunks {
		if b.chunks[i].page.partition.state == revokedHard {
			return true
		}
	}
	return false
}

// failAll sets the error of all deliveries of a batch.
func (b *batch) failAll(err error) {
	for i := range b.errs {
		b.errs[i] = err
	}
}

// writer makes the calls of a batch, then the calls of the next batch. It returns when there is no next batch.
func (s *scheduler) writer() {
	var b *batch
	for {
		s.run.step(func(now time.Time) { b = s.nextCall(b, now) })
		if b == nil {
			return
		}
		b.call(s.route, s.run)
	}
}

// nextCall handles the result of the last call of a writer, and returns the batch of its next call. last is the batch
// of the last call, or nil if the writer has made no call. If nextCall returns nil, the writer must return.
func (s *scheduler) nextCall(last *batch, now time.Time) *batch {
	var next *batch
	if last == nil {
		s.starting = false
		next = s.nextBatch(now)
	} else {
		next = s.afterCall(last, now)
	}
	if next == nil {
		s.run.addMoving(-1)
	}
	return next
}

// call makes the call of the phase, without the lock.
func (b *batch) call(rt *route, r *run) {
	switch b.phase {
	case planning:
		b.err = rt.planAgain(b)
	case checkingKeys:
		b.quarantined, b.err = r.readQuarantine(b.ctx, rt.Name, b.keys)
	case sending:
		for _, delivery := range b.deliveries[:b.count] {
			b.sinkDeliveries = append(b.sinkDeliveries, delivery.Delivery)
		}
		b.sendCtx, b.endSpan = rt.tel.write(b.ctx, b)
		b.err = rt.callWrite(b.sendCtx, b.sinkDeliveries, b.errs[:b.count])
	case isolating:
		i := b.isolatedIndex
		b.sinkDeliveries[i] = b.deliveries[i].Delivery
		b.err = rt.callWrite(b.sendCtx, b.sinkDeliveries[i:i+1:i+1], b.errs[i:i+1])
	case packing:
		b.packChunks()
	case sorting:
		b.err = rt.writeSorted(r, b)
	case unpacking:
		b.unpacked, b.unpackErr = r.unpackDeliveries(b.chunks)
	}
}

// afterCall handles the result of a call. It returns the batch of the next call: b itself, or the next batch if b is
// settled. It returns nil if there is no next batch.
func (s *scheduler) afterCall(b *batch, now time.Time) *batch {
	switch b.phase {
	case planning:
		s.checkOrSend(b)
	case checkingKeys:
		s.afterKeyCheck(b)
	case sending:
		s.afterWrite(b)
	case isolating:
		s.afterIsolatedWrite(b)
	default:
		s.afterPackedCall(b)
	}
	if b.phase != settled {
		return b
	}
	s.run.pressureDue = true
	if b.endSpan != nil {
		endSpan, failed := b.endSpan, b.failedCount() // before b is reset
		s.run.addEffect(func() { endSpan(now, failed) })
	}
	s.endWrite(b)
	if b.chunks != nil {
		s.applyPackedResult(b)
	} else {
		s.applyResult(b, now)
	}
	b.reset()
	s.freeBatches = append(s.freeBatches, b)
	return s.nextBatch(now)
}

// endWrite removes a batch from those in flight.
func (s *scheduler) endWrite(b *batch) {
	if b.cancel != nil {
		b.cancel(nil)
	}
	i := slices.Index(s.writing, b)
	s.writing = slices.Delete(s.writing, i, i+1)
}

// failedCount returns the number of deliveries that the sink received and that failed.
func (b *batch) failedCount() int {
	if b.chunks != nil {
		if b.err != nil {
			return b.count
		}
		return 0
	}
	failed := 0
	for _, err := range b.errs[:b.count] {
		if err != nil {
			failed++
		}
	}
	return failed
}

// planAgain plans the deliveries that were cloned since they were planned. It returns the error of a failed plan. After
// such an error no delivery of the batch is tried, because the change whose plan failed must become the first change of
// its key again.
func (r *route) planAgain(b *batch) (planErr error) {
	for _, delivery := range b.deliveries {
		if !delivery.unplanned {
			continue
		}
		delivery.unplanned = false
		delivery.fail = r.planDelivery(&delivery.Delivery)
		if delivery.fail != nil {
			planErr = delivery.fail.err
		}
	}
	return planErr
}

// checkOrSend chooses the phase of a batch whose deliveries have plans. It settles the batch if a plan failed.
func (s *scheduler) checkOrSend(b *batch) {
	switch {
	case b.err != nil:
		b.noAttempt, b.phase = true, settled
		b.failAll(errUntried)
	case s.run.p.options.Quarantine != nil:
		b.phase = checkingKeys
		for _, lane := range b.lanes {
			b.keys = append(b.keys, lane.key)
		}
	default:
		b.sendAllowed()
	}
}

// afterWrite handles the result of a Write. If the Write failed as a whole, either all of its deliveries have failed,
// or each of them is written once more, alone.
func (s *scheduler) afterWrite(b *batch) {
	b.phase = settled
	if b.err == nil {
		return
	}
	if b.ctx.Err() != nil || !oneMayBeCause(b.err, b.count) {
		for i := range b.errs[:b.count] {
			b.errs[i] = b.err
		}
		return
	}
	s.isolate(b, 0)
}

// oneMayBeCause reports whether one of the n deliveries of a Write can be the cause of its error err. This is so if err
// is a panic, or if err is permanent and there are several deliveries. A transient error applies to all deliveries.
func oneMayBeCause(err error, n int) bool {
	isPermanent := !isTransient(err) && !IsFatal(err)
	return isPanic(err) || isPermanent && n > 1
}

// afterIsolatedWrite handles the result of a delivery that was written alone. If it failed, later changes of its key
// are not tried, unless it becomes a dead letter that does not quarantine the key.
func (s *scheduler) afterIsolatedWrite(b *batch) {
	i := b.isolatedIndex
	if b.err != nil {
		b.errs[i] = b.err
	}
	if err := b.errs[i]; err != nil {
		delivery := b.deliveries[i]
		isLettered := s.fateOfError(delivery.page, err) == fateLettered
		laterMayFollow := isLettered && !s.run.quarantines(s.route, classWrite)
		delivery.lane.failedInBatch = !laterMayFollow
	}
	s.isolate(b, i+1)
}

// isolate chooses the next delivery that is written alone. It starts at the index from. The deliveries that it skips
// are not tried.
func (s *scheduler) isolate(b *batch, from int) {
	for i := from; i < b.count; i++ {
		delivery := b.deliveries[i]
		isSkipped := delivery.lane.failedInBatch || delivery.page.partition.state.isRevoked()
		if !isSkipped && b.ctx.Err() == nil {
			b.phase, b.isolatedIndex = isolating, i
			return
		}
		b.errs[i] = errUntried
	}
	b.phase = settled
}

// errUntried is the error of a delivery that was not tried. An earlier change of its key failed, a plan of its batch
// failed, its partition was revoked, or the run stops hard.
var errUntried = Transient(errs.New("not tried, because of an earlier change of its key"))

// callWrite calls Write once. It sets errs[i] for each delivery that failed, or returns an error that fails all of ds.
// It classifies denials, and notes the result for the health of the sink.
func (r *route) callWrite(ctx context.Context, ds []Delivery, errs []error) error {
	batchErr := guard(r.stage, nil, func() error { return r.writeDeliveries(ctx, ds, errs) })
	if ctx.Err() == nil { // a cancelled Write proves nothing about the sink
		batchErr = r.denials.classifyAll(batchErr, errs)
		r.health.update(batchErr, errs)
	}
	return batchErr
}

// writeDeliveries is the Write of callWrite. A panic of the sink passes through.
func (r *route) writeDeliveries(ctx context.Context, ds []Delivery, errs []error) error {
	failed, err := FailuresOf(r.Sink.Write(ctx, ds), len(ds))
	if err != nil {
		return err
	}
	clear(errs)
	for i, err := range failed {
		errs[i] = err
	}
	for i := range ds {
		if errs[i] == nil && ds[i].Outcome >= DeadLettered {
			errs[i] = badOutcome(ds[i].Outcome)
		}
	}
	return nil
}

// badOutcome returns the error of a delivery for which the sink set an outcome that only the pipeline may set.
func badOutcome(o Outcome) error {
	return errs.Errorf("the sink set the outcome %s, which only the pipeline may set", redact.Safe(o.String()))
}
