package pipeline

import "testing"

// What a run that was stopped hard holds is not taken for empty by the next one.
func TestScratchIsEmpty(t *testing.T) {
	var s scratchPool
	var held schedulerScratch
	held.lanes.add(&lane{key: "a", hash: 1})
	s.put(held)
	if got := s.get(); got.lanes.n > 0 {
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
	empty := s.get()
	empty.freeLanes = append(empty.freeLanes, &lane{})
	s.put(empty)
	if got := s.get(); got.lanes.n > 0 { // the idle lane may be gone: a pool keeps nothing for sure
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
}
