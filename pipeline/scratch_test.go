package pipeline

import "testing"

// The next run does not take a scratch that a hard-stopped run still holds for an empty one.
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
