package pipeline

import "testing"

// A run does not take over a scratch whose lanes are still in use, as those of a hard-stopped run are.
func TestScratchIsEmpty(t *testing.T) {
	var s scratchPool
	var held schedulerScratch
	held.lanes.add(&lane{key: "a", hash: 1})
	s.put(held)
	if got := s.get(); got.lanes.count > 0 {
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
	empty := s.get()
	empty.freeLanes = append(empty.freeLanes, &lane{})
	s.put(*empty)
	if got := s.get(); got.lanes.count > 0 { // the pool may have dropped the scratch with the idle lane
		t.Fatalf("a run begins with the lanes %v", got.lanes)
	}
}
