package redrive

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
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
func (r *run) deliverSink(ctx context.Context, sink string, keys []*keyLetters) (repeat bool, err error) {
	info, known := r.routes[sink]
	info.Name = sink
	var unmarked []item.Key
	switch {
	case !known && !r.Discard:
		r.failWithoutSink(sink, keys)
	case r.hasMarks(info):
		// A key can have letters and no mark, for example after a crash before the mark was stored. The key gets its
		// mark now, and the next pass delivers its letters.
		if keys, unmarked = splitByMark(keys); len(unmarked) > 0 {
			if err := r.Quarantine.MarkKeys(ctx, sink, unmarked); err != nil {
				return false, err
			}
		}
	}

	hasMissed := false
	if !info.Guarded && !r.Discard {
		if hasMissed, err = r.readAgain(ctx, info, keys); err != nil {
			return false, err
		}
	}
	if err := r.deliverAll(ctx, info, keys); err != nil {
		return false, err
	}
	hasNewLetters, err := r.releaseKeys(ctx, info, keys)
	return len(unmarked) > 0 || hasMissed || hasNewLetters, err
}

// failWithoutSink fails the selected letters of a sink that the pipeline does not have.
func (r *run) failWithoutSink(sink string, keys []*keyLetters) {
	for _, key := range keys {
		for i := range key.refs {
			if ref := &key.refs[i]; ref.selected {
				letter := pipeline.DeadLetter{Sink: sink, Key: key.key, Class: ref.class}
				r.failLetter(ref, r.failure(&letter, ref.id, errNoSink))
			}
		}
	}
}

// splitByMark returns the keys that have a mark, with their letters, and those that have none.
func splitByMark(keys []*keyLetters) (marked []*keyLetters, unmarked []item.Key) {
	for _, key := range keys {
		if key.marked {
			marked = append(marked, key)
		} else {
			unmarked = append(unmarked, key.key)
		}
	}
	return marked, unmarked
}

// deliverAll delivers one window after the other. It ends when no letter can be delivered, or after Options.Attempts
// tries in a row without progress.
func (r *run) deliverAll(ctx context.Context, info pipeline.RouteInfo, keys []*keyLetters) error {
	attempts := 0
	for {
		w := r.nextWindow(info, keys, batchSize)
		if len(w.refs) == 0 {
			return nil
		}
		if err := r.load(ctx, info, keys, &w); err != nil {
			return err
		}
		wait, err := r.deliver(ctx, info, &w)
		r.reportProgress()
		if err != nil {
			return err
		}
		if w.hasProgress() {
			attempts = 0
			continue
		}

		attempts++
		if attempts == r.Attempts {
			r.failExhausted(&w)
			return nil
		}
		if pipeline.Sleep(ctx, r.Backoff.Delay(attempts-1, wait)) != nil {
			return context.Cause(ctx)
		}
	}
}

// deliver delivers a window to the sink and removes the settled letters. wait is how long the server asked to wait.
func (r *run) deliver(ctx context.Context, info pipeline.RouteInfo, w *window) (wait time.Duration, err error) {
	changes, indexes := r.decodeWindow(info, w)
	var results []pipeline.Redelivery
	if len(changes) > 0 {
		if results, err = r.Pipeline.Redeliver(ctx, info.Name, changes); err != nil {
			return 0, err
		}
	}
	for n, result := range results {
		ref := w.refs[indexes[n]]
		failure := Failure{Sink: info.Name, Key: r.Mask.Key(changes[n]), ID: ref.id, Class: ref.class}
		isStopped := result.Err != nil && (pipeline.IsFatal(result.Err) || ctx.Err() != nil)
		switch {
		case isStopped:
			err = result.Err
		case result.Err != nil:
			wait = max(wait, r.applyError(ref, failure, result))
		default:
			r.applyOutcome(w, indexes[n], failure, result.Outcome)
		}
	}
	return wait, errors.Join(err, r.removeSettled(ctx, info.Name, w))
}

// applyError applies the error of a letter that the sink did not take. It returns how long the server asked to wait.
func (r *run) applyError(ref *letterRef, failure Failure, result pipeline.Redelivery) (wait time.Duration) {
	failure.Error = result.Err.Error()
	wait, retryable := pipeline.Retryable(result.Err)
	switch {
	case result.Untried: // an earlier letter of the key failed: this letter is tried again, or waits
		return 0
	case retryable:
		ref.lastFailure = failure
		return wait
	}
	r.failLetter(ref, failure)
	return 0
}

// decodeWindow decodes the records of a window, or discards the letters. indexes has the index of each change in the
// window.
func (r *run) decodeWindow(info pipeline.RouteInfo, w *window) (changes []*record.Change, indexes []int) {
	for i, ref := range w.refs {
		if r.Discard {
			w.settle(ref, discarded)
			continue
		}
		letter, found := r.loaded[ref.id]
		if !found { // another redrive removed it
			ref.state = delivered
			r.sink(info.Name).Letters--
			continue
		}
		if w.keys[i].blocked {
			continue
		}
		change, err := r.decode(&letter)
		if err != nil {
			r.failLetter(ref, r.failure(&letter, ref.id, err))
			w.keys[i].blocked = !info.Guarded
			continue
		}
		changes, indexes = append(changes, change), append(indexes, i)
	}
	return changes, indexes
}

// applyOutcome settles letter i of a window after the sink accepted it. If the letter must be delivered again, it stays
// pending. failure is its failure if it has to stay.
func (r *run) applyOutcome(w *window, i int, failure Failure, outcome pipeline.Outcome) {
	ref, key := w.refs[i], w.keys[i]
	isPending := func(earlier *letterRef) bool { return earlier.state == pending }
	isSuperseded := outcome == pipeline.Superseded
	switch {
	case outcome == pipeline.Suppressed:
		failure.Error = errSuppressed.Error()
		r.failLetter(ref, failure)
		return
	case isSuperseded && key.anyBefore(ref, (*letterRef).blocksLater):
		// An earlier letter stays. A later redrive of that letter can write a row that only the old image of this
		// letter can remove.
		failure.Error = errNeeded.Error()
		r.failLetter(ref, failure)
		return
	case isSuperseded && key.anyBefore(ref, isPending):
		return // it is delivered again after the earlier letter
	case isSuperseded:
		w.superseded++
	}
	w.settle(ref, delivered)
}

// removeSettled removes the settled letters of a window, even if the redrive is being stopped.
func (r *run) removeSettled(ctx context.Context, sink string, w *window) error {
	if len(w.settled) == 0 {
		return nil
	}
	if err := r.Letters.Remove(context.WithoutCancel(ctx), w.settled); err != nil {
		return err
	}
	if r.Discard {
		r.sink(sink).Discarded += len(w.settled)
		return nil
	}
	r.sink(sink).Delivered += len(w.settled) - w.superseded
	r.sink(sink).Superseded += w.superseded
	return nil
}

// failExhausted fails the letters of a window that still fail temporarily after Options.Attempts tries.
func (r *run) failExhausted(w *window) {
	for i, ref := range w.refs {
		key := w.keys[i]
		hasFailed := ref.state == pending && ref.lastFailure.Error != ""
		if hasFailed && !key.blocked {
			r.failLetter(ref, ref.lastFailure)
			key.exhausted, key.blocked = true, true
		}
	}
}

// failLetter records that a letter stays, and why. This redrive does not try the letter again.
func (r *run) failLetter(ref *letterRef, cause Failure) {
	ref.state = failed
	r.addFailure(cause)
}

// releaseKeys ends the quarantine of each key whose remaining letters do not need the mark. It also counts the letters
// that stay, and names the undecodable records that letters wait for. hasNewLetters reports whether a key got a further
// letter meanwhile.
func (r *run) releaseKeys(
	ctx context.Context, info pipeline.RouteInfo, keys []*keyLetters,
) (hasNewLetters bool, err error) {
	for _, key := range keys {
		counts := r.sink(info.Name)
		failures, waiting := key.countStaying()
		counts.Failed += failures
		counts.Waiting += waiting
		r.reportBarrier(key)
		if !key.marked || key.barrier != nil || key.needsMark(info.Guarded) {
			continue
		}
		cleared, err := r.Quarantine.Clear(ctx, key.mark)
		if err != nil {
			return hasNewLetters, err
		}
		if !cleared {
			hasNewLetters = true
			continue
		}
		counts.Held--
		counts.Released++
	}
	return hasNewLetters, nil
}

// reportBarrier adds the barrier of a key to the report if it is an undecodable record that is not selected, and a
// letter waits for it.
func (r *run) reportBarrier(key *keyLetters) {
	if key.barrier == nil || key.barrier.unselected == "" {
		return
	}
	waits := func(ref letterRef) bool { return ref.isWaiting() && key.isAfterBarrier(&ref) }
	if slices.ContainsFunc(key.refs, waits) {
		letter := pipeline.DeadLetter{Key: key.key, Class: key.barrier.class}
		failure := r.failure(&letter, key.barrier.unselected, errUnselected)
		failure.Error = key.barrier.source + failure.Error
		r.addFailure(failure)
	}
}

// countStaying counts the letters of a key that failed, and those that were selected and wait.
func (l *keyLetters) countStaying() (failures, waiting int) {
	for i := range l.refs {
		ref := &l.refs[i]
		if ref.state == failed {
			failures++
		}
		if ref.isWaiting() {
			waiting++
		}
	}
	return failures, waiting
}

// needsMark reports whether a letter of the key needs the key's mark. At a guarded sink a letter that failed
// permanently needs none, because the sink compares versions.
func (l *keyLetters) needsMark(guarded bool) bool {
	failureNeedsMark := !guarded || l.exhausted
	return slices.ContainsFunc(l.refs, func(ref letterRef) bool {
		return ref.state == pending || ref.state == failed && failureNeedsMark
	})
}
