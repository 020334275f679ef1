package redrive

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/state"
)

// place orders the letters of a key: by version, and by arrival if a version is unknown or both are the same.
type place struct {
	version pipeline.Version
	n       int // of the letter, in the order of arrival
}

func (p place) compare(q place) int {
	if p.version.IsZero() || q.version.IsZero() {
		return cmp.Compare(p.n, q.n)
	}
	return cmp.Or(p.version.Compare(q.version), cmp.Compare(p.n, q.n))
}

func (p place) before(q place) bool { return p.compare(q) < 0 }

// ref is a letter without its record, to save memory: there can be a million letters.
type ref struct {
	place
	id     string
	class  string
	size   int64
	chosen bool // its class is in Options.Classes
	state  refState
	why    Failure // of the last try, if it failed temporarily
}

// refState is the result of a letter in this redrive.
type refState uint8

const (
	pending refState = iota
	delivered
	discarded
	failed
)

// keepsBack reports whether the later letters of the key must wait for r, at a sink that does not compare versions.
func (r *ref) keepsBack() bool { return r.state == failed || r.state == pending && !r.chosen }

// lot has the letters of one key at one sink, in the order of delivery.
type lot struct {
	key     pipeline.Key
	refs    []ref
	mark    state.Mark
	marked  bool   // there is a mark
	block   *place // of the first record of the key that cannot be decoded: later letters wait; nil: none
	settled int    // how many letters at the beginning are delivered or discarded, as far as that was counted
	wait    bool   // the rest of the letters wait, for one that stays
	down    bool   // giveUp left it
}

// staysBefore reports whether a letter before one stays. The earlier letter can write a row in a later redrive that
// only the old image of the later letter can remove.
func (l *lot) staysBefore(one *ref) bool { return l.anyBefore(one, (*ref).keepsBack) }

// pendingBefore reports whether a letter before one is not delivered yet.
func (l *lot) pendingBefore(one *ref) bool {
	return l.anyBefore(one, func(r *ref) bool { return r.state == pending })
}

// anyBefore reports whether a letter before one, which is not settled itself, is so. It passes over the settled
// letters at the beginning once, not once for each letter.
func (l *lot) anyBefore(one *ref, is func(*ref) bool) bool {
	for l.refs[l.settled].state == delivered || l.refs[l.settled].state == discarded {
		l.settled++
	}
	for i := l.settled; &l.refs[i] != one; i++ {
		if is(&l.refs[i]) {
			return true
		}
	}
	return false
}

// sort reads all letters, without their records, and sorts them by sink and key.
func (r *run) sort(ctx context.Context, marks map[string]map[pipeline.Key]state.Mark) (map[string][]*lot, error) {
	lots := map[string]map[pipeline.Key]*lot{}
	get := func(sink string, k pipeline.Key) *lot {
		if lots[sink] == nil {
			lots[sink] = map[pipeline.Key]*lot{}
		}
		l := lots[sink][k]
		if l == nil {
			l = &lot{key: k}
			l.mark, l.marked = marks[sink][k]
			lots[sink][k] = l
		}
		return l
	}
	blocks := map[pipeline.Key]place{} // of records that cannot be decoded, the first of each key
	seen := map[string]bool{}
	n := 0
	for l, err := range r.Letters.Read(ctx) {
		if err != nil {
			return nil, err
		}
		n++
		if !r.ours(&l) {
			continue
		}
		if l.Sink == "" {
			at := place{l.Version, n}
			if first, ok := blocks[l.Key]; !ok || at.before(first) {
				blocks[pipeline.Key(strings.Clone(string(l.Key)))] = at
			}
			continue
		}
		id, of := deadletter.ID(&l), get(l.Sink, pipeline.Key(strings.Clone(string(l.Key))))
		if seen[id] {
			continue // Read yielded it again
		}
		seen[id] = true
		one := ref{place: place{l.Version, n}, id: id, class: l.Class, size: int64(len(l.Raw)), chosen: r.asked(l.Class)}
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
	sorted := map[string][]*lot{}
	for sink, keys := range lots {
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			l := keys[k]
			if at, ok := blocks[k]; ok && k != "" && !r.routes[sink].Guarded {
				l.block = &at
			}
			slices.SortFunc(l.refs, func(a, b ref) int { return a.compare(b.place) })
			sorted[sink] = append(sorted[sink], l)
			r.report.sink(sink, func(s *SinkReport) {
				for _, ref := range l.refs {
					if ref.chosen {
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

// sinks returns the names of the sinks that have letters or marks, sorted.
func (r *run) sinks(lots map[string][]*lot) []string { return slices.Sorted(maps.Keys(lots)) }
