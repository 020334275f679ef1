package pipeline

import "iter"

// laneSet finds the lane of a key by the key's hash, which a change is given once
// for all sinks: hashing the text of a key for each of them, and comparing it, was the
// larger part of what the order of keys cost.
type laneSet map[uint64]*lane // lanes of one hash are chained by next

// of is the lane of a key; nil where it has none.
func (s laneSet) of(hash uint64, key Key) *lane {
	l := s[hash]
	for l != nil && l.key != key {
		l = l.next
	}
	return l
}

// add takes a lane in, whose key has none.
func (s laneSet) add(l *lane) {
	l.next = s[l.hash]
	s[l.hash] = l
}

// drop takes a lane out.
func (s laneSet) drop(l *lane) {
	first := s[l.hash]
	switch {
	case first != l:
		for first.next != l {
			first = first.next
		}
		first.next = l.next
	case l.next == nil:
		delete(s, l.hash)
	default:
		s[l.hash] = l.next
	}
	l.next = nil
}

// all are the lanes, in no order.
func (s laneSet) all() iter.Seq[*lane] {
	return func(yield func(*lane) bool) {
		for _, l := range s {
			for ; l != nil; l = l.next {
				if !yield(l) {
					return
				}
			}
		}
	}
}
