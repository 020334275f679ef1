package redrive

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

var (
	errNoSink = errs.New(
		"the pipeline has no such sink: give the sink its name again, or move its letters to another one (tablewake redrive --sink NAME --to SINK), or discard them (--sink NAME --discard)")
	errNeeded = errs.New(
		"the sink has a newer version of the item. The letter stays as long as one of the item before it does: " +
			"what that one writes, this one may have to remove")
	errSuppressed = errs.New("what it would send is held back in this redrive")
)

// deliverSink delivers the dead letters of one sink. repeat is true if another pass is needed, because a key was not
// quarantined yet or got another letter meanwhile.
func (r *run) deliverSink(ctx context.Context, sink string, letters []*keyLetters) (repeat bool, err error) {
	info, known := r.routes[sink]
	info.Name = sink
	switch {
	case !known && !r.Discard:
		r.failWithoutSink(sink, letters)
	case r.Quarantine != nil && !info.Guarded:
		if letters, repeat, err = r.quarantineUnmarked(ctx, sink, letters); err != nil {
			return false, err
		}
	}
	if !info.Guarded && !r.Discard {
		missed, err := r.readAgain(ctx, info, letters)
		if err != nil {
			return false, err
		}
		repeat = repeat || missed
	}
	if err := r.deliverAll(ctx, info, letters); err != nil {
		return false, err
	}
	more, err := r.finish(ctx, info, letters)
	return repeat || more, err
}

// failWithoutSink fails the selected letters of a sink that the pipeline does not have.
func (r *run) failWithoutSink(sink string, letters []*keyLetters) {
	for _, l := range letters {
		for i := range l.refs {
			if ref := &l.refs[i]; ref.selected {
				letter := pipeline.DeadLetter{Sink: sink, Key: l.key, Class: ref.class}
				r.failLetter(ref, r.failure(&letter, ref.id, errNoSink))
			}
		}
	}
}

// quarantineUnmarked quarantines the keys that have letters and no mark, as after a crash between the two. It returns
// the letters of the marked keys: this pass leaves out the keys that it quarantines, and the next one delivers them.
func (r *run) quarantineUnmarked(
	ctx context.Context, sink string, letters []*keyLetters,
) (marked []*keyLetters, repeat bool, err error) {
	var unmarked []item.Key
	for _, l := range letters {
		if l.marked {
			marked = append(marked, l)
		} else {
			unmarked = append(unmarked, l.key)
		}
	}
	if len(unmarked) > 0 {
		err = r.Quarantine.Hold(ctx, sink, unmarked)
	}
	return marked, len(unmarked) > 0, err
}

// deliverAll delivers one window after the other. It ends when no letter can be delivered, or after Options.Attempts
// tries in a row without progress.
func (r *run) deliverAll(ctx context.Context, info pipeline.RouteInfo, letters []*keyLetters) error {
	for attempt := 0; ; {
		w := r.nextWindow(info, letters, batchSize)
		if len(w.refs) == 0 {
			return nil
		}
		if err := r.load(ctx, info, letters, &w); err != nil {
			return err
		}
		wait, err := r.deliver(ctx, info, &w)
		r.reportProgress()
		if err != nil {
			return err
		}
		if w.hasProgress() {
			attempt = 0
			continue
		}
		if attempt++; attempt == r.Attempts {
			r.failExhausted(&w)
			return nil
		}
		if pipeline.Sleep(ctx, r.Backoff.Delay(attempt-1, wait)) != nil {
			return context.Cause(ctx)
		}
	}
}

// window has the letters that are delivered together. All are pending at first.
type window struct {
	keys       []*keyLetters // the letters of the key of each ref
	refs       []*letterRef
	bytes      int64    // bytes of their records
	settled    []string // IDs of the letters that were delivered or discarded, to be removed
	superseded int      // number of delivered letters without effect: the sink has a newer version
}

// settle notes that a letter was delivered or discarded.
func (w *window) settle(ref *letterRef, s refState) {
	ref.state = s
	w.settled = append(w.settled, ref.id)
}

// hasProgress reports whether a letter changed its state. If none did, all failed temporarily or wait.
func (w *window) hasProgress() bool {
	return slices.ContainsFunc(w.refs, func(ref *letterRef) bool { return ref.state != pending })
}

// nextWindow returns the next letters that can be delivered, up to count and up to Options.Bytes.
func (r *run) nextWindow(info pipeline.RouteInfo, letters []*keyLetters, count int) (w window) {
	for _, l := range letters {
		for i := range l.refs {
			ref := &l.refs[i]
			afterBarrier := !r.Discard && l.barrier != nil && l.barrier.before(ref.deliveryOrder)
			stays := !info.Guarded && ref.blocksLater()
			if l.blocked = l.blocked || afterBarrier || stays; l.blocked {
				break
			}
			if ref.state != pending || !ref.selected {
				continue
			}
			if isFull := w.bytes > 0 && w.bytes+ref.size > r.Bytes; isFull || len(w.refs) == count {
				return w
			}
			w.keys, w.refs, w.bytes = append(w.keys, l), append(w.refs, ref), w.bytes+ref.size
		}
	}
	return w
}

// load reads the records of a window into r.loaded. To find them, it has to read the letters from the start of the
// store. So it also keeps the records of the letters after the window, up to Options.Bytes. A letter that is not found
// was removed.
func (r *run) load(ctx context.Context, info pipeline.RouteInfo, letters []*keyLetters, w *window) error {
	if r.Discard || !slices.ContainsFunc(w.refs, func(ref *letterRef) bool { _, ok := r.loaded[ref.id]; return !ok }) {
		return nil
	}
	return r.loadNext(ctx, info, letters, nil)
}

// loadNext reads the records of the letters that can be delivered next, up to Options.Bytes. If visit is not nil,
// loadNext reads the whole store, and calls visit with each letter and its ID. If visit is nil, loadNext stops after
// the last of the records. It reads nothing if no letter can be delivered.
func (r *run) loadNext(
	ctx context.Context, info pipeline.RouteInfo, letters []*keyLetters, visit func(l *pipeline.DeadLetter, id string),
) error {
	r.loaded = map[string]pipeline.DeadLetter{}
	wanted := map[string]bool{}
	for _, ref := range r.nextWindow(info, letters, math.MaxInt).refs {
		wanted[ref.id] = true
	}
	if len(wanted) == 0 {
		return nil
	}
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return err
		}
		id := deadletter.ID(&l)
		if wanted[id] {
			r.loaded[id] = l
		}
		if visit != nil {
			visit(&l, id)
		} else if len(r.loaded) == len(wanted) {
			break
		}
	}
	return nil
}

// readAgain reads the letters of a sink a second time. It looks for letters that sort did not read although they come
// before the last letter that sort read of the same key. Such a letter becomes the barrier of its key: the later
// letters of the key wait. missed is true if there is such a letter. Then another pass is needed.
//
// A store is not read at one moment. A letter that was put meanwhile can be among those that were read, and the letter
// of its key that was put just before it can be missing. This read began after the first one ended, so it has both.
func (r *run) readAgain(ctx context.Context, info pipeline.RouteInfo, letters []*keyLetters) (missed bool, err error) {
	keys := map[item.Key]*keyLetters{}
	for _, l := range letters {
		if len(l.refs) > 0 {
			keys[l.key] = l
		}
	}
	err = r.loadNext(ctx, info, letters, func(l *pipeline.DeadLetter, id string) {
		known := keys[l.Key]
		if known == nil || r.readIDs[id] || l.Sink != "" && l.Sink != info.Name || !r.inScope(l) {
			return
		}
		at := deliveryOrder{l.Version, math.MaxInt}
		if at.before(known.refs[len(known.refs)-1].deliveryOrder) {
			known.setBarrier(at)
			missed = true
		}
	})
	return missed, err
}

// deliver delivers a window to the sink and removes the settled letters. wait is how long the server asked to wait.
func (r *run) deliver(ctx context.Context, info pipeline.RouteInfo, w *window) (wait time.Duration, err error) {
	changes, at := r.decodeWindow(info, w)
	var results []pipeline.Redelivery
	if len(changes) > 0 {
		if results, err = r.Pipeline.Redeliver(ctx, info.Name, changes); err != nil {
			return 0, err
		}
	}
	for k, res := range results {
		ref := w.refs[at[k]]
		failure := func(cause error) Failure {
			return Failure{Sink: info.Name, Key: r.Mask.Key(changes[k]), ID: ref.id, Class: ref.class, Error: cause.Error()}
		}
		after, retry := pipeline.Retryable(res.Err)
		switch {
		case res.Err == nil:
			if why := w.applyOutcome(at[k], res.Outcome); why != nil {
				r.failLetter(ref, failure(why))
			}
		case pipeline.IsFatal(res.Err) || ctx.Err() != nil:
			err = res.Err
		case res.Untried: // an earlier letter of the key failed: this letter is tried again, or waits
		case retry:
			ref.lastFailure = failure(res.Err)
			wait = max(wait, after)
		default:
			r.failLetter(ref, failure(res.Err))
		}
	}
	return wait, errors.Join(err, r.removeSettled(ctx, info.Name, w))
}

// decodeWindow decodes the records of a window, or discards the letters. at is the index of each change in the window.
func (r *run) decodeWindow(info pipeline.RouteInfo, w *window) (changes []*record.Change, at []int) {
	for i, ref := range w.refs {
		l, found := r.loaded[ref.id]
		switch {
		case r.Discard:
			w.settle(ref, discarded)
		case !found:
			ref.state = delivered // another redrive removed it
			r.report.updateSink(info.Name, func(s *SinkReport) { s.Letters-- })
		case w.keys[i].blocked:
		default:
			c, err := r.decode(&l)
			if err != nil {
				r.failLetter(ref, r.failure(&l, ref.id, err))
				w.keys[i].blocked = !info.Guarded
				continue
			}
			changes, at = append(changes, c), append(at, i)
		}
	}
	return changes, at
}

// applyOutcome settles letter i of a window after the sink accepted it, unless the letter must be delivered again. It
// returns the reason why the letter fails, or nil.
func (w *window) applyOutcome(i int, outcome pipeline.Outcome) error {
	ref, key := w.refs[i], w.keys[i]
	switch {
	case outcome == pipeline.Suppressed:
		return errSuppressed
	case outcome != pipeline.Superseded:
		w.settle(ref, delivered)
	case key.anyBefore(ref, (*letterRef).blocksLater):
		// An earlier letter stays. A later redrive of it can write a row that only the old image of this one can
		// remove.
		return errNeeded
	case key.anyBefore(ref, func(r *letterRef) bool { return r.state == pending }):
		// It is tried again after the earlier letter.
	default:
		w.settle(ref, delivered)
		w.superseded++
	}
	return nil
}

// removeSettled removes the settled letters of a window, even if the redrive is being stopped.
func (r *run) removeSettled(ctx context.Context, sink string, w *window) error {
	if len(w.settled) == 0 {
		return nil
	}
	if err := r.Letters.Remove(context.WithoutCancel(ctx), w.settled); err != nil {
		return err
	}
	r.report.updateSink(sink, func(s *SinkReport) {
		if r.Discard {
			s.Discarded += len(w.settled)
		} else {
			s.Delivered += len(w.settled) - w.superseded
			s.Superseded += w.superseded
		}
	})
	return nil
}

// failExhausted fails the letters of a window that still fail temporarily after Options.Attempts tries.
func (r *run) failExhausted(w *window) {
	for i, ref := range w.refs {
		if ref.state == pending && ref.lastFailure.Error != "" && !w.keys[i].blocked {
			r.failLetter(ref, ref.lastFailure)
			w.keys[i].exhausted, w.keys[i].blocked = true, true
		}
	}
}

// failLetter records that a letter stays, and why. This redrive does not try the letter again.
func (r *run) failLetter(ref *letterRef, cause Failure) {
	ref.state = failed
	r.failed[ref.id] = true
	r.report.addFailure(cause)
}

// finish counts the letters of a sink that stay, and releases the keys without such a letter.
// repeat reports whether a key got a further letter meanwhile.
func (r *run) finish(ctx context.Context, info pipeline.RouteInfo, letters []*keyLetters) (repeat bool, err error) {
	for _, l := range letters {
		failures, waiting, keepsMark := l.countStaying(info.Guarded)
		r.report.updateSink(info.Name, func(s *SinkReport) { s.Failed, s.Waiting = s.Failed+failures, s.Waiting+waiting })
		if !l.marked || keepsMark || l.barrier != nil {
			continue
		}
		cleared, err := r.Quarantine.Clear(ctx, l.mark)
		if err != nil {
			return repeat, err
		}
		if !cleared {
			repeat = true
			continue
		}
		r.report.updateSink(info.Name, func(s *SinkReport) { s.Held, s.Released = s.Held-1, s.Released+1 })
	}
	return repeat, nil
}

// countStaying counts the letters of a key that failed, and those that were selected and wait. keepsMark reports
// whether a letter of the key needs its mark. At a guarded sink a letter that failed permanently needs none, because
// the sink compares versions.
func (l *keyLetters) countStaying(guarded bool) (failures, waiting int, keepsMark bool) {
	for i := range l.refs {
		switch ref := &l.refs[i]; ref.state {
		case failed:
			failures++
			keepsMark = keepsMark || !guarded || l.exhausted
		case pending:
			keepsMark = true
			if ref.selected {
				waiting++
			}
		}
	}
	return failures, waiting, keepsMark
}
