package redrive

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/state"
)

// deliveryOrder is the position of a dead letter among the letters of its key. The letters are ordered by version. If a
// version is unknown, or both are equal, they are ordered by arrival.
type deliveryOrder struct {
	version record.Version
	arrival int // position in the order of arrival
}

func (p deliveryOrder) compare(q deliveryOrder) int {
	if p.version.IsZero() || q.version.IsZero() {
		return cmp.Compare(p.arrival, q.arrival)
	}
	return cmp.Or(p.version.Compare(q.version), cmp.Compare(p.arrival, q.arrival))
}

func (p deliveryOrder) before(q deliveryOrder) bool { return p.compare(q) < 0 }

// barrier is the position of a letter that stays. The later letters of the key wait for it.
type barrier struct {
	deliveryOrder
	unselected string // ID of an undecodable record that is not selected; "": the barrier is another letter
	class      string // class of the undecodable record
	source     string // prefix of its reason: the source of the backfill that read it; "" for a record of a stream
}

// noteFirst sets first[key] to b, unless first[key] is earlier.
func noteFirst[K comparable](first map[K]barrier, key K, b barrier) {
	if earliest, ok := first[key]; !ok || b.before(earliest.deliveryOrder) {
		first[key] = b
	}
}

// letterRef is a letter without its record, to save memory: there can be a million letters.
type letterRef struct {
	deliveryOrder
	id          string
	class       string
	size        int64
	selected    bool // its class is in Options.Classes
	state       refState
	lastFailure Failure // failure of the last try, if it was temporary
}

// refState is the result of a letter in this redrive.
type refState uint8

const (
	pending refState = iota
	delivered
	discarded
	failed
)

// blocksLater reports whether the later letters of the key must wait for r. It is for sinks that do not compare
// versions.
func (r *letterRef) blocksLater() bool { return r.state == failed || r.state == pending && !r.selected }

// isWaiting reports whether a selected letter has no result yet.
func (r *letterRef) isWaiting() bool { return r.state == pending && r.selected }

func (r *letterRef) isSettled() bool { return r.state == delivered || r.state == discarded }

// keyLetters has the letters of one key at one sink, in the order of delivery.
type keyLetters struct {
	key    item.Key
	refs   []letterRef
	mark   state.Mark
	marked bool // the key has a mark
	// Letters after the barrier wait. It is the position of an undecodable record, or of a letter that a later pass
	// delivers. Default: nil; no letter waits for it.
	barrier      *barrier
	settledCount int  // the first settledCount letters are delivered or discarded
	blocked      bool // the remaining letters wait for a letter that stays
	exhausted    bool // failExhausted failed a letter of the key
}

// setBarrier makes the letters after b wait. If there is an earlier barrier, it stays.
func (l *keyLetters) setBarrier(b barrier) {
	if l.barrier == nil || b.before(l.barrier.deliveryOrder) {
		l.barrier = &b
	}
}

// isAfterBarrier reports whether a letter of the key comes after the barrier.
func (l *keyLetters) isAfterBarrier(ref *letterRef) bool {
	return l.barrier != nil && l.barrier.before(ref.deliveryOrder)
}

// anyBefore reports whether matches is true for a letter before ref. ref must not be settled. anyBefore counts the
// settled letters at the beginning in settledCount, so that the next call skips them at once.
func (l *keyLetters) anyBefore(ref *letterRef, matches func(*letterRef) bool) bool {
	for l.refs[l.settledCount].isSettled() {
		l.settledCount++
	}
	for i := l.settledCount; &l.refs[i] != ref; i++ {
		if matches(&l.refs[i]) {
			return true
		}
	}
	return false
}

// sinkKey is a key at one sink, or at every sink if sink is "".
type sinkKey struct {
	sink string
	key  item.Key
}

func (k sinkKey) compare(o sinkKey) int {
	return cmp.Or(cmp.Compare(k.sink, o.sink), cmp.Compare(k.key, o.key))
}

// letterIndex has the letters that a pass has read.
type letterIndex struct {
	letters     map[sinkKey]*keyLetters
	undecodable map[sinkKey]barrier // the first undecodable record of each key
}

// addKey returns the letters of a key. If there are none yet, it adds the key.
func (x *letterIndex) addKey(k sinkKey) *keyLetters {
	l := x.letters[k]
	if l == nil {
		l = &keyLetters{key: k.key}
		x.letters[k] = l
	}
	return l
}

// sort reads all letters, without their records. It returns the keys that have letters or a mark, sorted, by sink.
func (r *run) sort(ctx context.Context, marks map[sinkKey]state.Mark) (map[string][]*keyLetters, error) {
	index := letterIndex{map[sinkKey]*keyLetters{}, map[sinkKey]barrier{}}
	r.readIDs = map[string]bool{}
	arrival := 0
	for letter, err := range r.Letters.Read(ctx) {
		if err != nil {
			return nil, err
		}
		arrival++
		if r.inScope(&letter) {
			r.indexLetter(&index, &letter, arrival)
		}
	}
	for id, mark := range marks { // a mark may have no letters
		key := index.addKey(id)
		key.mark, key.marked = mark, true
	}

	r.startPass()
	keysBySink := map[string][]*keyLetters{}
	for _, id := range slices.SortedFunc(maps.Keys(index.letters), sinkKey.compare) {
		key := index.letters[id]
		if id.key != "" && !r.routes[id.sink].Guarded {
			index.setBarrier(id, key)
		}
		slices.SortFunc(key.refs, func(a, b letterRef) int { return a.compare(b.deliveryOrder) })
		keysBySink[id.sink] = append(keysBySink[id.sink], key)
		r.countFound(id.sink, key)
	}
	return keysBySink, nil
}

// setBarrier makes the letters of a key wait if they come after the key's first undecodable record.
func (x *letterIndex) setBarrier(id sinkKey, key *keyLetters) {
	for _, sink := range []string{"", id.sink} {
		if first, ok := x.undecodable[sinkKey{sink, id.key}]; ok {
			key.setBarrier(first)
		}
	}
}

// indexLetter adds a letter to the index. A letter that Read yields again counts once.
func (r *run) indexLetter(index *letterIndex, letter *pipeline.DeadLetter, arrival int) {
	id := deadletter.ID(letter)
	wasRead := r.readIDs[id]
	r.readIDs[id] = true
	key, order := item.Key(strings.Clone(string(letter.Key))), deliveryOrder{letter.Version, arrival}
	switch {
	case letter.Sink == "": // also if wasRead: letters of two backfills can have the same ID, and other sinks
		r.indexUndecodable(index, letter, key, order)
		return
	case wasRead:
		return
	}
	ref := letterRef{deliveryOrder: order, id: id, class: letter.Class, size: int64(len(letter.Raw))}
	ref.selected = r.isSelected(letter.Class)
	if r.failed[id] {
		ref.state = failed
	}
	letters := index.addKey(sinkKey{letter.Sink, key})
	letters.refs = append(letters.refs, ref)
}

// indexUndecodable adds the letter of an undecodable record to the index. A record of a stream is for every sink, and
// an item of a backfill is for the sinks that the backfill fills.
func (r *run) indexUndecodable(index *letterIndex, letter *pipeline.DeadLetter, key item.Key, order deliveryOrder) {
	sinks := []string{""}
	if letter.Snapshot != nil {
		sinks = r.filledSinks(letter)
	}
	undecodable := barrier{deliveryOrder: order}
	if !r.isSelected(letter.Class) {
		undecodable.unselected, undecodable.class = deadletter.ID(letter), strings.Clone(letter.Class)
		undecodable.source = snapshotPrefix(letter)
	}
	for _, sink := range sinks {
		noteFirst(index.undecodable, sinkKey{sink, key}, undecodable)
	}
}

// errUnselected is the reason why an undecodable record stays, and with it the later letters of its key.
var errUnselected = errs.New("its class is not selected, and later letters of its key wait for it")

// countFound adds the selected letters of a key and its mark to the report.
func (r *run) countFound(sink string, key *keyLetters) {
	counts := r.sink(sink)
	for _, ref := range key.refs {
		if ref.selected {
			counts.Letters++
		}
	}
	if key.marked {
		counts.Held++
	}
}
