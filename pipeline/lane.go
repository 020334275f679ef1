package pipeline

import (
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// lane is the order of one key at one sink. It is there only while a change of the key is being written, has failed,
// or waits behind one that is: a key at rest costs nothing.
type lane struct {
	key   item.Key
	hash  uint64
	next  *lane // of the same hash
	state laneState
	queue deliveryList // in order; failed ones, to be tried again, are first
	batch *batch       // that has changes of it, while it is writing

	letters         int  // changes whose dead letters are not durable
	quarantinesRest bool // within one step: one of these quarantines the key, and the queue becomes dead letters too

	retryAt    time.Time     // the next try
	attempt    int           // failures since the last success
	retries    deliveryList  // of the batch whose result is applied
	serverWait time.Duration // the wait that a server asked for
	err        error         // the last failure that is tried again
	expiresAt  time.Time     // when its first, which has failed, becomes a dead letter; zero: never

	skipped bool // while a batch is written: the key is in quarantine, or an earlier change failed, and the rest is not tried
}

// laneState is what a key waits for at a sink.
//
//	from           event                                                 to
//	idle           a change joins a batch                                writing
//	idle           a change that failed before the sink has its turn     deadLettering, blocked or nacked
//	queued         it is taken into a batch                              writing
//	queued         its first change failed before the sink, or expired   deadLettering, blocked or nacked
//	queued         all of it is revoked                                  idle
//	writing        all of it is finished                                 idle, or queued if more has come
//	writing        a change failed and is tried again                    parked, or blocked if that cannot help
//	writing        a change failed permanently                           deadLettering or nacked
//	writing        the batch was no attempt: a Write was cancelled for   queued
//	               a revoked partition, or a plan failed
//	writing        a hard stop                                           idle, with the changes still pending
//	parked         the backoff is over, or the failed change is revoked  queued
//	parked         all of it is revoked                                  idle
//	blocked        as parked                                             as parked
//	deadLettering  all its letters are durable, or revoked               as after writing
//	nacked         (the end: later changes return to their source too)
//
// A lane is blocked instead of parked if its first change can never be written, and there are neither dead letters nor a
// source that takes single records back.
type laneState uint8

const (
	idle          laneState = iota // the key has no lane
	queued                         // its queue can be written
	writing                        // a batch has some of it
	parked                         // its first change failed, and waits until retryAt
	blocked                        // likewise, and its first change can never be written
	deadLettering                  // letters of it are not durable
	nacked                         // its first change returned to the source
)

// laneHeap holds parked lanes, the first to wake on top.
type laneHeap = heapOf[*lane]

var _ ordered[*lane] = (*lane)(nil)

func (l *lane) before(other *lane) bool { return l.retryAt.Before(other.retryAt) }

// ordered is what a heap can hold.
type ordered[T any] interface{ before(other T) bool }

// heapOf is a heap, for package heap.
type heapOf[T ordered[T]] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }
func (h heapOf[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heapOf[T]) Push(x any)        { *h = append(*h, x.(T)) }
func (h *heapOf[T]) Pop() any {
	old := *h
	x := old[len(old)-1]
	clear(old[len(old)-1:])
	*h = old[:len(old)-1]
	return x
}

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
