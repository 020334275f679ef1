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
	if n := len(s.freeBatches); n > 0 {
		b := s.freeBatches[n-1]
		s.freeBatches = s.freeBatches[:n-1]
		return b
	}
	return &batch{}
}

func (s *scheduler) newLane(qd *queuedDelivery) *lane {
	var l *lane
	if n := len(s.freeLanes); n > 0 {
		l, s.freeLanes = s.freeLanes[n-1], s.freeLanes[:n-1]
	} else {
		l = new(lane)
	}
	l.key, l.hash = qd.d.Change.Key, qd.hash
	qd.lane = l
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
