package pipeline

import "sync"

// scratchPool keeps the scratch memory of a route between runs. That matters in a Lambda function, which has a run for
// each event.
type scratchPool struct{ pool sync.Pool }

// schedulerScratch is memory that a scheduler reuses. It holds no values between two runs.
type schedulerScratch struct {
	lanes       laneSet
	freeLanes   []*lane
	freeBatches []*batch
}

// get returns scratch memory of an earlier run, or new memory.
func (s *scratchPool) get() schedulerScratch {
	if scratch, ok := s.pool.Get().(*schedulerScratch); ok {
		return *scratch
	}
	return schedulerScratch{}
}

// put keeps the scratch memory of a scheduler that has ended. If its lanes are not empty, as can happen after a hard
// stop, put drops it.
func (s *scratchPool) put(scratch schedulerScratch) {
	if scratch.lanes.n == 0 {
		s.pool.Put(&scratch)
	}
}

func (s *scheduler) newBatch() *batch {
	last := len(s.freeBatches) - 1
	if last < 0 {
		return &batch{}
	}
	b := s.freeBatches[last]
	s.freeBatches = s.freeBatches[:last]
	return b
}

// newLane adds the lane of a delivery's key, which has none.
func (s *scheduler) newLane(delivery *queuedDelivery) *lane {
	l := s.freeLane()
	l.key, l.hash = delivery.Change.Key, delivery.hash
	delivery.lane = l
	s.lanes.add(l)
	return l
}

// freeLane returns an empty lane that was dropped, or a new one.
func (s *scheduler) freeLane() *lane {
	last := len(s.freeLanes) - 1
	if last < 0 {
		return new(lane)
	}
	l := s.freeLanes[last]
	s.freeLanes = s.freeLanes[:last]
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
