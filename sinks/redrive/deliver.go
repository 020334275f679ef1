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
	switch {
	case !known && !r.Discard:
		for _, l := range letters {
			for i := range l.refs {
				if ref := &l.refs[i]; ref.selected {
					one := pipeline.DeadLetter{Sink: sink, Key: l.key, Class: ref.class}
					r.failLetter(ref, r.failure(&one, ref.id, errNoSink))
				}
			}
		}
	case r.Quarantine != nil && !info.Guarded:
		if letters, repeat, err = r.quarantineFirst(ctx, sink, letters); err != nil {
			return false, err
		}
	}
	if !info.Guarded && !r.Discard {
		missed, err := r.readAgain(ctx, info, sink, letters)
		if err != nil {
			return false, err
		}
		repeat = repeat || missed
	}
	for attempt := 0; attempt < r.Attempts; {
		w := r.next(info, letters, batchSize)
		if len(w.refs) == 0 {
			break
		}
		if err := r.load(ctx, info, letters, &w); err != nil {
			return false, err
		}
		progress, wait, err := r.deliver(ctx, info, sink, &w)
		r.reportProgress()
		switch {
		case err != nil:
			return false, err
		case progress:
			attempt = 0
			continue
		}
		if attempt++; attempt == r.Attempts {
			r.failExhausted(&w)
			break
		}
		if pipeline.Sleep(ctx, r.Backoff.Delay(attempt-1, wait)) != nil {
			return false, context.Cause(ctx)
		}
	}
	more, err := r.finish(ctx, info, sink, letters)
	return repeat || more, err
}

// quarantineFirst quarantines the keys that have letters but no mark, the note of a quarantine. A crash after a letter
// was stored and before its mark was stored leaves such a key. held are the letters of the keys that had a mark
// already: this pass delivers only them. repeat is true if quarantineFirst quarantined a key. The next pass then
// delivers the letters of this key.
func (r *run) quarantineFirst(
	ctx context.Context, sink string, letters []*keyLetters,
) (held []*keyLetters, repeat bool, err error) {
	var keys []item.Key
	for _, l := range letters {
		if l.marked {
			held = append(held, l)
		} else {
			keys = append(keys, l.key)
		}
	}
	if len(keys) > 0 {
		err = r.Quarantine.Hold(ctx, sink, keys)
	}
	return held, len(keys) > 0, err
}

// window has the letters that are delivered together.
type window struct {
	keys  []*keyLetters // keys[i] has all letters of the key of refs[i]
	refs  []*letterRef
	bytes int64 // total size of the records of refs
}

// next returns the next letters that can be delivered: at most count letters, whose records have at most Options.Bytes.
// A single record may be larger. next leaves out letters that wait for an earlier letter of their key, or for its
// barrier.
func (r *run) next(info pipeline.RouteInfo, letters []*keyLetters, count int) (w window) {
	for _, l := range letters {
		for i := range l.refs {
			ref := &l.refs[i]
			behind := l.barrier != nil && l.barrier.before(ref.deliveryOrder) && !r.Discard
			l.blocked = l.blocked || behind || !info.Guarded && ref.blocksLater()
			if l.blocked {
				break
			}
			if ref.state != pending || !ref.selected {
				continue
			}
			if len(w.refs) == count || w.bytes > 0 && w.bytes+ref.size > r.Bytes {
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
	for _, ref := range r.next(info, letters, math.MaxInt).refs {
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
// Such a letter exists if two letters of a key are put while sort reads the store. sort may miss the first one and read
// the second one, because a store is not read at one moment. readAgain begins after sort has ended, so it reads both
// letters.
func (r *run) readAgain(
	ctx context.Context, info pipeline.RouteInfo, sink string, letters []*keyLetters,
) (missed bool, err error) {
	keys := map[item.Key]*keyLetters{}
	for _, l := range letters {
		if len(l.refs) > 0 {
			keys[l.key] = l
		}
	}
	err = r.loadNext(ctx, info, letters, func(l *pipeline.DeadLetter, id string) {
		known := keys[l.Key]
		if known == nil || r.readIDs[id] || l.Sink != "" && l.Sink != sink || !r.inScope(l) {
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

// deliver delivers a window to the sink and removes the delivered letters. progress is true if a letter changed its
// state. It is false if all letters failed temporarily. wait is then the time that the server asked to wait; 0 if it
// did not ask.
func (r *run) deliver(
	ctx context.Context, info pipeline.RouteInfo, sink string, w *window,
) (progress bool, wait time.Duration, err error) {
	var cs []*record.Change
	var at []int // at[k] is the index of cs[k] in the window
	var done []string
	overtaken := 0
	failureOf := func(k int, why error) Failure {
		ref := w.refs[at[k]]
		return Failure{Sink: sink, Key: r.Mask.Key(cs[k]), ID: ref.id, Class: ref.class, Error: why.Error()}
	}
	end := func(i int, s refState) {
		w.refs[i].state = s
		done = append(done, w.refs[i].id)
	}
	for i, ref := range w.refs {
		l, there := r.loaded[ref.id]
		switch {
		case r.Discard:
			end(i, discarded)
		case !there:
			w.refs[i].state, progress = delivered, true // another redrive removed the letter
			r.report.sink(sink, func(s *SinkReport) { s.Letters-- })
		case w.keys[i].blocked:
		default:
			c, err := r.decode(&l)
			if err != nil {
				r.failLetter(ref, r.failure(&l, ref.id, err))
				w.keys[i].blocked, progress = !info.Guarded, true
				continue
			}
			cs, at = append(cs, c), append(at, i)
		}
	}
	var results []pipeline.Redelivery
	if len(cs) > 0 {
		if results, err = r.Pipeline.Redeliver(ctx, sink, cs); err != nil {
			return false, 0, err
		}
	}
	for k, res := range results {
		i := at[k]
		after, retry := pipeline.Retryable(res.Err)
		switch {
		case res.Err == nil && res.Outcome == pipeline.Suppressed:
			r.failLetter(w.refs[i], failureOf(k, errSuppressed))
			progress = true
		case res.Err == nil && res.Outcome == pipeline.Superseded && w.keys[i].anyBefore(w.refs[i], (*letterRef).blocksLater):
			// An earlier letter of the key stays. In a later redrive the earlier letter may write a row that only the
			// old image of this letter can remove. So this letter stays too.
			r.failLetter(w.refs[i], failureOf(k, errNeeded))
			progress = true
		case res.Err == nil && res.Outcome == pipeline.Superseded &&
			w.keys[i].anyBefore(w.refs[i], func(r *letterRef) bool { return r.state == pending }):
			// this letter is tried again after the earlier one
		case res.Err == nil:
			if end(i, delivered); res.Outcome == pipeline.Superseded {
				overtaken++
			}
		case pipeline.IsFatal(res.Err) || ctx.Err() != nil:
			err = res.Err
		case res.Untried: // an earlier letter of the key failed: this letter is tried again, or waits
		case retry:
			w.refs[i].lastFailure = failureOf(k, res.Err)
			wait = max(wait, after)
		default:
			r.failLetter(w.refs[i], failureOf(k, res.Err))
			progress = true
		}
	}
	err = errors.Join(err, r.remove(ctx, sink, done, overtaken))
	return progress || len(done) > 0, wait, err
}

// remove removes delivered or discarded letters, even if the redrive is being stopped. overtaken is the number of these
// letters that had no effect, because the sink has a newer version.
func (r *run) remove(ctx context.Context, sink string, ids []string, overtaken int) error {
	if len(ids) == 0 {
		return nil
	}
	if err := r.Letters.Remove(context.WithoutCancel(ctx), ids); err != nil {
		return err
	}
	r.report.sink(sink, func(s *SinkReport) {
		if r.Discard {
			s.Discarded += len(ids)
		} else {
			s.Delivered += len(ids) - overtaken
			s.Superseded += overtaken
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
func (r *run) failLetter(ref *letterRef, why Failure) {
	ref.state = failed
	r.failed[ref.id] = true
	r.report.fail(why)
}

// finish counts the letters of a sink that stay. It clears the mark of each key that no letter keeps quarantined.
// repeat is true if such a key got another letter meanwhile, so that its mark stays.
func (r *run) finish(
	ctx context.Context, info pipeline.RouteInfo, sink string, letters []*keyLetters,
) (repeat bool, err error) {
	for _, l := range letters {
		var fails, waits, keeps int
		for i := range l.refs {
			switch ref := &l.refs[i]; ref.state {
			case failed:
				fails++
				if !info.Guarded || l.exhausted {
					keeps++ // otherwise the sink compares versions, and a permanent failure blocks no key
				}
			case pending:
				keeps++
				if ref.selected {
					waits++
				}
			}
		}
		r.report.sink(sink, func(s *SinkReport) { s.Failed, s.Waiting = s.Failed+fails, s.Waiting+waits })
		if !l.marked || keeps > 0 || l.barrier != nil {
			continue
		}
		gone, err := r.Quarantine.Clear(ctx, l.mark)
		if err != nil {
			return repeat, err
		}
		if !gone {
			repeat = true
			continue
		}
		r.report.sink(sink, func(s *SinkReport) { s.Held, s.Released = s.Held-1, s.Released+1 })
	}
	return repeat, nil
}
