package pipeline

import (
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// lane keeps the order of the changes of one key at one sink. A key has a lane only while one of its changes is in a
// batch, has failed, or waits. So keys without unfinished changes cost nothing.
type lane struct {
	key           item.Key
	hash          uint64
	next          *lane // the next lane of a chain of laneSet
	state         laneState
	quarantined   bool // the key is in quarantine: its changes in the batch are not written
	failedInBatch bool // a change of the batch that was written alone failed: the later ones are not tried
	// hasFailed reports, within one step, that a change of the batch failed and is tried again.
	hasFailed bool
	// quarantinesRest reports, within one step, that a dead letter quarantines the key: the queue becomes dead letters
	// too.
	quarantinesRest bool
	letters         int          // number of changes whose dead letters are not durable
	queue           deliveryList // waiting changes in order; changes that failed and are tried again are first
	batch           *batch       // the batch that has changes of the key; nil if there is none

	retryAt    time.Time     // when the first change is tried again
	attempt    int           // number of failures since the last success
	retries    deliveryList  // changes of the batch that are tried again; only within one step
	serverWait time.Duration // the longest wait that the server requested; only within one step
	err        error         // the last failure of the first change
	expiresAt  time.Time     // when the first change, which has failed, becomes a dead letter; zero: never
}

// retry notes that a change of the batch failed with err and is tried again. The error of the lane is that of the first
// such change.
func (l *lane) retry(delivery *queuedDelivery, err error) {
	if !l.hasFailed {
		l.hasFailed, l.err = true, err
	}
	after, _ := Retryable(err)
	l.serverWait = max(l.serverWait, after)
	l.retries.push(delivery)
}

// laneState is what a key waits for at a sink.
//
//	from           event                                                 to
//	idle           a change joins a batch                                writing
//	idle           a change comes that failed before the sink            deadLettering, blocked, nacked; parked if the
//	                                                                     failure is transient and nothing takes letters
//	queued         it is taken into a batch                              writing
//	queued         its first change failed before the sink, or expired   deadLettering, blocked or nacked
//	queued         all of it is revoked                                  idle
//	writing        all of it is finished                                 idle, or queued if later changes wait
//	writing        a change failed and is tried again                    parked; blocked if that cannot help; queued if
//	                                                                     max_hold has passed: it then expires
//	writing        a change failed permanently                           deadLettering or nacked
//	writing        its changes were not tried, or the batch was no       queued
//	               attempt: a Write was cancelled for a revoked
//	               partition, or a plan failed
//	writing        a hard stop                                           idle, with the changes still pending
//	parked or      the backoff ends, or the failed change is revoked     queued
//	blocked
//	parked or      all of it is revoked                                  idle
//	blocked
//	deadLettering  all its letters are durable, or revoked               idle, queued, parked or blocked
//	nacked         (final: later changes return to their source too)
//
// A lane whose first change can never be written is blocked instead of parked. That happens only if there are no dead
// letters and the source does not acknowledge single records. A blocked Write is called again, so it succeeds once the
// sink is repaired. A filter, a detector or a plan that failed is not called again in this run.
type laneState uint8

const (
	idle          laneState = iota // the key has no lane
	queued                         // its queue can be written
	writing                        // a batch has changes of it
	parked                         // its first change failed, and waits until retryAt
	blocked                        // its first change can never be written, and waits until retryAt
	deadLettering                  // some of its dead letters are not durable
	nacked                         // its first change returned to the source
)

// enter moves the lane to another state.
func (l *lane) enter(to laneState) {
	if onTransition != nil {
		onTransition(l.state, to)
	}
	l.state = to
}

// onTransition checks transitions in tests. nil: they are not checked.
var onTransition func(from, to laneState)

// laneHeap orders parked lanes by the time of their next try.
type laneHeap = heapOf[*lane]

var _ ordered[*lane] = (*lane)(nil)

func (l *lane) before(other *lane) bool { return l.retryAt.Before(other.retryAt) }

// ordered is the constraint for elements of a heap.
type ordered[T any] interface{ before(other T) bool }

// heapOf implements the Interface of package heap.
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

// laneSet finds the lane of a key by the hash of the key, which is computed once for all sinks. It is a hash table with
// chains. Almost every delivery adds and removes a lane. A map would cost three times as much as all other work for a
// lane.
type laneSet struct {
	chains []*lane // the first lane of each chain; the number of chains is a power of two
	count  int     // number of lanes
}

const (
	minChains     = 64
	maxIdleChains = 4 * maxFreeLanes // the largest number of chains that an empty set keeps
)

// find returns the lane of a key; nil if it has none.
func (s *laneSet) find(hash uint64, key item.Key) *lane {
	if s.count == 0 {
		return nil
	}
	l := *s.chainOf(hash)
	for l != nil && (l.hash != hash || l.key != key) {
		l = l.next
	}
	return l
}

// chainOf returns the chain for a hash. The set must have chains.
func (s *laneSet) chainOf(hash uint64) **lane { return &s.chains[hash&uint64(len(s.chains)-1)] }

// add inserts the lane of a key that has none.
func (s *laneSet) add(l *lane) {
	if s.count == len(s.chains) {
		s.grow()
	}
	s.link(l)
	s.count++
}

func (s *laneSet) link(l *lane) {
	first := s.chainOf(l.hash)
	l.next, *first = *first, l
}

// grow doubles the number of chains, so that a chain has one lane on average.
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

// remove removes a lane from the set.
func (s *laneSet) remove(l *lane) {
	link := s.chainOf(l.hash)
	for *link != l {
		link = &(*link).next
	}
	*link, l.next = l.next, nil
	s.count--
	if s.count == 0 && len(s.chains) > maxIdleChains {
		// A backlog is over: the many chains that it needed are freed.
		s.chains = nil
	}
}

// all yields the lanes in any order. The loop must not change the set.
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
