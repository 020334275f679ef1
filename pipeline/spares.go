package pipeline

import "sync"

// spares are what schedulers of a route leave to those of its later runs: a Lambda function
// has a run for each event, and would make all of it anew.
type spares struct{ pool sync.Pool }

// spare is what a scheduler made that holds nothing now.
type spare struct {
	lanes       laneSet
	freeLanes   []*lane
	freeBatches []*batch
}

// take is what a scheduler begins with.
func (s *spares) take() spare {
	if left, ok := s.pool.Get().(*spare); ok {
		return *left
	}
	return spare{}
}

// leave takes what a scheduler that has ended does not need any more. One that was stopped hard
// has lanes with something in them: it leaves nothing.
func (s *spares) leave(left spare) {
	if left.lanes.n == 0 {
		s.pool.Put(&left)
	}
}
