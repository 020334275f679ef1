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
	n       int // position in the order of arrival
}

func (p deliveryOrder) compare(q deliveryOrder) int {
	if p.version.IsZero() || q.version.IsZero() {
		return cmp.Compare(p.n, q.n)
	}
	return cmp.Or(p.version.Compare(q.version), cmp.Compare(p.n, q.n))
}

func (p deliveryOrder) before(q deliveryOrder) bool { return p.compare(q) < 0 }

// noteFirst sets the order of a key in first, unless first has an earlier one.
func noteFirst[K comparable](first map[K]deliveryOrder, key K, order deliveryOrder) {
	if earliest, ok := first[key]; !ok || order.before(earliest) {
		first[key] = order
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

// keyLetters has the letters of one key at one sink, in the order of delivery.
type keyLetters struct {
	key    item.Key
	refs   []letterRef
	mark   state.Mark
	marked bool // the key has a mark
	// Letters after the barrier wait. It is the position of an undecodable record, or of a letter that a later pass
	// delivers. Default: nil; no letter waits for it.
	barrier      *deliveryOrder
	settledCount int  // the first settledCount letters are delivered or discarded
	blocked      bool // the remaining letters wait for a letter that stays
	exhausted    bool // failExhausted failed a letter of the key
}

// setBarrier makes the letters after the position at wait. If there is an earlier barrier, it stays.
func (l *keyLetters) setBarrier(at deliveryOrder) {
	if l.barrier == nil || at.before(*l.barrier) {
		l.barrier = &at
	}
}

// anyBefore reports whether matches is true for a letter before ref, which must not be settled. It skips the settled
// letters at the beginning once, not once for each letter.
func (l *keyLetters) anyBefore(ref *letterRef, matches func(*letterRef) bool) bool {
	for l.refs[l.settledCount].state == delivered || l.refs[l.settledCount].state == discarded {
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
	undecodable map[sinkKey]deliveryOrder // the first undecodable record of each key
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

// sort reads all letters, without their records, and sorts them by sink and key.
func (r *run) sort(ctx context.Context, marks map[sinkKey]state.Mark) (map[string][]*keyLetters, error) {
	x := letterIndex{map[sinkKey]*keyLetters{}, map[sinkKey]deliveryOrder{}}
	r.readIDs = map[string]bool{}
	n := 0
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return nil, err
		}
		n++
		if r.inScope(&l) {
			r.indexLetter(&x, &l, n)
		}
	}
	for k, m := range marks { // a mark may have no letters
		l := x.addKey(k)
		l.mark, l.marked = m, true
	}
	r.report.startPass()
	sorted := map[string][]*keyLetters{}
	for _, k := range slices.SortedFunc(maps.Keys(x.letters), sinkKey.compare) {
		l := x.letters[k]
		for _, sink := range []string{"", k.sink} {
			first, ok := x.undecodable[sinkKey{sink, k.key}]
			if ok && k.key != "" && !r.routes[k.sink].Guarded {
				l.setBarrier(first)
			}
		}
		slices.SortFunc(l.refs, func(a, b letterRef) int { return a.compare(b.deliveryOrder) })
		sorted[k.sink] = append(sorted[k.sink], l)
		r.countFound(k.sink, l)
	}
	return sorted, nil
}

// indexLetter adds the n-th letter that was read to x. A letter that Read yields again counts once.
func (r *run) indexLetter(x *letterIndex, l *pipeline.DeadLetter, n int) {
	id := deadletter.ID(l)
	readBefore := r.readIDs[id]
	r.readIDs[id] = true
	key, order := item.Key(strings.Clone(string(l.Key))), deliveryOrder{l.Version, n}
	switch {
	case l.Sink == "" && l.Snapshot == nil:
		noteFirst(x.undecodable, sinkKey{"", key}, order)
	case l.Sink == "":
		for _, sink := range r.filledSinks(l) {
			noteFirst(x.undecodable, sinkKey{sink, key}, order)
		}
	case !readBefore:
		ref := letterRef{deliveryOrder: order, id: id, class: l.Class, size: int64(len(l.Raw))}
		ref.selected = r.isSelected(l.Class)
		if r.failed[id] {
			ref.state = failed
		}
		letters := x.addKey(sinkKey{l.Sink, key})
		letters.refs = append(letters.refs, ref)
	}
}

// countFound adds the selected letters of a key and its mark to the report.
func (r *run) countFound(sink string, l *keyLetters) {
	r.report.updateSink(sink, func(s *SinkReport) {
		for _, ref := range l.refs {
			if ref.selected {
				s.Letters++
			}
		}
		if l.marked {
			s.Held++
		}
	})
}
