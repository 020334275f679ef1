package redrive

import (
	"context"
	"math"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// window has the letters that are delivered together. All are pending at first.
type window struct {
	keys       []*keyLetters // for each ref, the letters of its key
	refs       []*letterRef
	bytes      int64    // bytes of the records of refs
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

// nextWindow returns the next letters that can be delivered, up to count and up to Options.Bytes. It blocks a key at
// its first letter that must stay.
func (r *run) nextWindow(info pipeline.RouteInfo, keys []*keyLetters, count int) (w window) {
	for _, key := range keys {
		for i := range key.refs {
			ref := &key.refs[i]
			waitsForBarrier := !r.Discard && key.isAfterBarrier(ref)
			blocksLater := !info.Guarded && ref.blocksLater()
			key.blocked = key.blocked || waitsForBarrier || blocksLater
			if key.blocked {
				break
			}
			if !ref.isWaiting() {
				continue
			}
			isTooLarge := w.bytes > 0 && w.bytes+ref.size > r.Bytes
			if isTooLarge || len(w.refs) == count {
				return w
			}
			w.keys = append(w.keys, key)
			w.refs = append(w.refs, ref)
			w.bytes += ref.size
		}
	}
	return w
}

// load reads the records of a window into r.loaded. To find them, it has to read the letters from the start of the
// store. So it also keeps the records of the letters after the window, up to Options.Bytes. A letter that is not found
// was removed.
func (r *run) load(ctx context.Context, info pipeline.RouteInfo, keys []*keyLetters, w *window) error {
	isMissing := func(ref *letterRef) bool { _, ok := r.loaded[ref.id]; return !ok }
	if r.Discard || !slices.ContainsFunc(w.refs, isMissing) {
		return nil
	}
	wanted := r.deliverableIDs(info, keys)
	r.loaded = map[string]pipeline.DeadLetter{}
	for letter, err := range r.Letters.Read(ctx) {
		if err != nil {
			return err
		}
		id := deadletter.ID(&letter)
		if !wanted[id] {
			continue
		}
		r.loaded[id] = letter
		if len(r.loaded) == len(wanted) {
			return nil
		}
	}
	return nil
}

// deliverableIDs returns the IDs of the letters that can be delivered next, up to Options.Bytes.
func (r *run) deliverableIDs(info pipeline.RouteInfo, keys []*keyLetters) map[string]bool {
	ids := map[string]bool{}
	for _, ref := range r.nextWindow(info, keys, math.MaxInt).refs {
		ids[ref.id] = true
	}
	return ids
}

// readAgain reads the letters of a sink a second time. It looks for letters that sort missed. A letter was missed if
// sort did not read it, but read a letter of the same key that is delivered later. A missed letter becomes the barrier
// of its key: the later letters of the key wait. missed is true if a letter was missed. Then another pass is needed.
// Like load, readAgain keeps the records of the letters that can be delivered next. If there are none, it reads
// nothing.
//
// A Read does not show the store at one moment. If letters are put while sort reads, sort can see one of them and miss
// the letter of the same key that was put just before. The second read begins after the first one ended, so it sees
// both letters.
func (r *run) readAgain(ctx context.Context, info pipeline.RouteInfo, keys []*keyLetters) (missed bool, err error) {
	wanted := r.deliverableIDs(info, keys)
	r.loaded = map[string]pipeline.DeadLetter{}
	if len(wanted) == 0 {
		return false, nil
	}
	byKey := map[item.Key]*keyLetters{}
	for _, key := range keys {
		if len(key.refs) > 0 {
			byKey[key.key] = key
		}
	}
	for letter, err := range r.Letters.Read(ctx) {
		if err != nil {
			return false, err
		}
		id := deadletter.ID(&letter)
		if wanted[id] {
			r.loaded[id] = letter
		}

		key, wasRead := byKey[letter.Key], r.readIDs[id]
		belongsToOtherSink := letter.Sink != "" && letter.Sink != info.Name
		if key == nil || wasRead || belongsToOtherSink || !r.inScope(&letter) {
			continue
		}
		order := deliveryOrder{letter.Version, math.MaxInt} // it arrived after all letters of its version
		if last := key.refs[len(key.refs)-1]; order.before(last.deliveryOrder) {
			key.setBarrier(barrier{deliveryOrder: order})
			missed = true
		}
	}
	return missed, nil
}
