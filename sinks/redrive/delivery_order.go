package redrive

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

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

// noteFirst sets first[key] to the position at, unless first has an earlier position of the key.
func noteFirst[K comparable](first map[K]deliveryOrder, key K, at deliveryOrder) {
	if noted, ok := first[key]; !ok || at.before(noted) {
		first[key] = at
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

// anyBefore reports whether is returns true for any letter before one. The letter one must not be delivered or
// discarded yet. anyBefore skips the delivered and discarded letters at the beginning. settledCount is their number, so
// that the next call does not pass over them again.
func (l *keyLetters) anyBefore(one *letterRef, is func(*letterRef) bool) bool {
	for l.refs[l.settledCount].state == delivered || l.refs[l.settledCount].state == discarded {
		l.settledCount++
	}
	for i := l.settledCount; &l.refs[i] != one; i++ {
		if is(&l.refs[i]) {
			return true
		}
	}
	return false
}

// sort reads all letters. It returns them without their records, by sink and in the order of their keys. It includes
// keys that have a mark but no letters.
func (r *run) sort(ctx context.Context, marks map[string]map[item.Key]state.Mark) (map[string][]*keyLetters, error) {
	letters := map[string]map[item.Key]*keyLetters{}
	get := func(sink string, k item.Key) *keyLetters {
		if letters[sink] == nil {
			letters[sink] = map[item.Key]*keyLetters{}
		}
		l := letters[sink][k]
		if l == nil {
			l = &keyLetters{key: k}
			l.mark, l.marked = marks[sink][k]
			letters[sink][k] = l
		}
		return l
	}
	type sinkKey struct {
		sink string // "" for every sink
		key  item.Key
	}
	blocks := map[sinkKey]deliveryOrder{} // the first undecodable record of each key
	r.readIDs = map[string]bool{}
	n := 0
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return nil, err
		}
		n++
		if !r.inScope(&l) {
			continue
		}
		id := deadletter.ID(&l)
		again := r.readIDs[id]
		r.readIDs[id] = true
		if l.Sink == "" {
			at, of := deliveryOrder{l.Version, n}, []string{""}
			if l.Snapshot != nil {
				of = r.filledSinks(&l)
			}
			for _, sink := range of {
				noteFirst(blocks, sinkKey{sink, item.Key(strings.Clone(string(l.Key)))}, at)
			}
			continue
		}
		if again {
			continue // Read yielded the letter twice
		}
		of := get(l.Sink, item.Key(strings.Clone(string(l.Key))))
		one := letterRef{deliveryOrder: deliveryOrder{l.Version, n}, id: id, class: l.Class, size: int64(len(l.Raw)),
			selected: r.isSelected(l.Class)}
		if r.failed[id] {
			one.state = failed
		}
		of.refs = append(of.refs, one)
	}
	for sink, keys := range marks {
		for k := range keys {
			get(sink, k) // a mark without letters
		}
	}
	r.report.begin()
	sorted := map[string][]*keyLetters{}
	for sink, keys := range letters {
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			l := keys[k]
			for _, of := range []string{"", sink} {
				at, ok := blocks[sinkKey{of, k}]
				if ok && k != "" && !r.routes[sink].Guarded {
					l.setBarrier(at)
				}
			}
			slices.SortFunc(l.refs, func(a, b letterRef) int { return a.compare(b.deliveryOrder) })
			sorted[sink] = append(sorted[sink], l)
			r.report.sink(sink, func(s *SinkReport) {
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
	}
	return sorted, nil
}
