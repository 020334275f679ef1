package pipeline

import "testing"

// What a run that was stopped hard holds is not taken for empty by the next one.
func TestSparesAreEmpty(t *testing.T) {
	var s spares
	var held spare
	held.lanes.add(&lane{key: "a", hash: 1})
	s.leave(held)
	if got := s.take(); got.lanes.n > 0 {
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
	empty := s.take()
	empty.freeLanes = append(empty.freeLanes, &lane{})
	s.leave(empty)
	if got := s.take(); got.lanes.n > 0 { // the idle lane may be gone: a pool keeps nothing for sure
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
}
