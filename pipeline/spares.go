package pipeline

import "sync"

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
