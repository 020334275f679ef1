package pipeline

import (
	"sync"
)

// scratchPool are what schedulers of a route leave to those of its later runs: a Lambda function
// has a run for each event, and would make all of it anew.
type scratchPool struct{ pool sync.Pool }

// schedulerScratch is what a scheduler made that holds nothing now.
type schedulerScratch struct {
	lanes       laneSet
	freeLanes   []*lane
	freeBatches []*batch
}

// get is what a scheduler begins with.
func (s *scratchPool) get() schedulerScratch {
	if left, ok := s.pool.Get().(*schedulerScratch); ok {
		return *left
	}
	return schedulerScratch{}
}

// put takes what a scheduler that has ended does not need any more. One that was stopped hard
// has lanes with something in them: it leaves nothing.
func (s *scratchPool) put(left schedulerScratch) {
	if left.lanes.n == 0 {
		s.pool.Put(&left)
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

func (s *scheduler) dropLane(l *lane) {
	s.lanes.remove(l)
	if len(s.freeLanes) < maxFreeLanes {
		*l = lane{}
		s.freeLanes = append(s.freeLanes, l)
	}
}

// maxFreeLanes bounds the lanes kept for the next keys: enough for the batches in
// flight, and no memory of a backlog that is over.
const maxFreeLanes = 4096
