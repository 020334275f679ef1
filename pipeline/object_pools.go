package pipeline

import "sync"

// pool is a pool of values of one type.
type pool[T any] struct{ sync.Pool }

// get returns a value of the pool, or a new one.
func (p *pool[T]) get() *T {
	if v, ok := p.Get().(*T); ok {
		return v
	}
	return new(T)
}

// scratchPool keeps the scratch memory of a route between runs. That matters in a Lambda function, which has a run for
// each event.
type scratchPool struct{ pool[schedulerScratch] }

// schedulerScratch is memory that a scheduler reuses. It holds no values between two runs.
type schedulerScratch struct {
	lanes       laneSet
	freeLanes   []*lane
	freeBatches []*batch
}

// put keeps the scratch memory of a scheduler that has ended. If its lanes are not empty, which can happen after a hard
// stop, put drops it.
func (s *scratchPool) put(scratch schedulerScratch) {
	if scratch.lanes.count == 0 {
		s.Put(&scratch)
	}
}

// takeFree takes the last of the free values. It makes a new one if there is none.
func takeFree[T any](values *[]*T) *T {
	last := len(*values) - 1
	if last < 0 {
		return new(T)
	}
	v := (*values)[last]
	*values = (*values)[:last]
	return v
}

// newLane adds a lane for the key of a delivery. The key must not have a lane yet.
func (s *scheduler) newLane(delivery *queuedDelivery) *lane {
	l := takeFree(&s.freeLanes)
	l.key, l.hash = delivery.Change.Key, delivery.hash
	delivery.lane = l
	s.lanes.add(l)
	return l
}

// dropLane removes an empty lane.
func (s *scheduler) dropLane(l *lane) {
	s.lanes.remove(l)
	if len(s.freeLanes) < maxFreeLanes {
		*l = lane{}
		s.freeLanes = append(s.freeLanes, l)
	}
}

// maxFreeLanes is the number of empty lanes that a scheduler keeps. They are enough for the batches in flight. After a
// backlog, the memory of the other lanes is freed.
const maxFreeLanes = 4096
