package pipeline

import (
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
)

// laneSet finds the lane of a key by the key's hash, which a change is given once for all
// sinks. It is a table of chains, by the last bits of the hash: a lane comes and goes with
// almost every delivery, and a map costs three times as much as the rest of its keeping.
type laneSet struct {
	chains []*lane // a power of two of them; lanes of one chain are linked by next
	n      int     // lanes
}

const (
	minChains     = 64
	maxIdleChains = 4 * maxFreeLanes // what an empty set keeps
)

// find is the lane of a key; nil where it has none.
func (s *laneSet) find(hash uint64, key item.Key) *lane {
	if s.n == 0 {
		return nil
	}
	l := *s.chain(hash)
	for l != nil && (l.hash != hash || l.key != key) {
		l = l.next
	}
	return l
}

// chain is where the lanes of a hash begin. There must be chains.
func (s *laneSet) chain(hash uint64) **lane { return &s.chains[hash&uint64(len(s.chains)-1)] }

// add takes a lane in, whose key has none.
func (s *laneSet) add(l *lane) {
	if s.n == len(s.chains) {
		s.grow()
	}
	s.link(l)
	s.n++
}

func (s *laneSet) link(l *lane) {
	first := s.chain(l.hash)
	l.next, *first = *first, l
}

// grow doubles the chains, so that they hold a lane each on average at most.
func (s *laneSet) grow() {
	before := s.chains
	s.chains = make([]*lane, max(2*len(before), minChains))
	for _, l := range before {
		for l != nil {
			next := l.next
			s.link(l)
			l = next
		}
	}
}

// remove takes a lane out, which is in the set.
func (s *laneSet) remove(l *lane) {
	link := s.chain(l.hash)
	for *link != l {
		link = &(*link).next
	}
	*link, l.next = l.next, nil
	if s.n--; s.n == 0 && len(s.chains) > maxIdleChains {
		s.chains = nil // of a backlog that is over
	}
}

// all are the lanes, in no order. The set must stay as it is meanwhile.
func (s *laneSet) all() iter.Seq[*lane] {
	return func(yield func(*lane) bool) {
		for _, l := range s.chains {
			for ; l != nil; l = l.next {
				if !yield(l) {
					return
				}
			}
		}
	}
}
