package viewtest

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// A table that was restored from a backup may have a row that is older than its tombstone. A repaired row is newer than
// the tombstone. So a change that the tombstone refused does not replace the repaired row.
func checkRepairsBesideTombstones(t *testing.T, s *repairCheck) {
	for name, next := range map[string]view.Mutation{"a row": putRow(t, "a", "", 0, "right"),
		"a tombstone": tombstone(t, "a", "", 0)} {
		for _, newest := range []int{5, 7} {
			sk := fmt.Sprint(name, newest)
			next.SK = item.StringValue(sk)
			s.storeRowAndTombstone(sk, newest)
			wantDone(t, name, s.repair(s.read(next), next))
			s.wantRepaired(name, next, newest)
			s.wantOrder(name, sk, next, newest)
		}
	}
}

// storeRowAndTombstone stores a row of version 5, and in the state a tombstone of version tombstoneSeq. The tombstone
// is written while the row is removed, because the store would not keep both.
func (s *repairCheck) storeRowAndTombstone(sk string, tombstoneSeq int) {
	apply(s.t, s, s.target, putRow(s.t, "a", sk, 5, "wrong"))
	restoreRow := s.Editor.Remove(s.t, s.StateStore, s.target.Table, makeRow(s.t, "a", sk))
	apply(s.t, s, s.target, tombstone(s.t, "a", sk, tombstoneSeq))
	restoreRow()
}

// The target keeps tombstones in the state, but a person has put one at the row's key, in place of the row of version
// 5. A repair writes the row, or moves the tombstone to the state. There the row has no tombstone yet (0), or one of
// version 4, 5 or 7. The repaired row or tombstone is newer than both.
func checkRepairsOfTombstonesAtTheKey(t *testing.T, s *repairCheck) {
	for _, inState := range []int{0, 4, 5, 7} {
		s.repairTombstoneAtTheKey("a row", inState, putRow(t, "a", "", 0, "right"))
		s.repairTombstoneAtTheKey("a tombstone", inState, tombstone(t, "a", "", 0))
	}
}

// repairTombstoneAtTheKey checks one repair. inState is the version of the tombstone in the state, or 0 without one.
func (s *repairCheck) repairTombstoneAtTheKey(name string, inState int, next view.Mutation) {
	t, sk := s.t, fmt.Sprint(name, inState)
	name = fmt.Sprintf("%s, with tombstone %d in the state", name, inState)
	next.SK = item.StringValue(sk)
	if inState > 0 {
		s.storeRowAndTombstone(sk, inState)
	} else {
		apply(t, s, s.target, putRow(t, "a", sk, 5, "wrong"))
	}
	s.Editor.ReplaceByTombstone(t, s.StateStore, s.target.Table, makeRow(t, "a", sk))
	expected := s.read(next)
	if !expected.Tombstone || !expected.InPlace || expected.Version != version(t, 5) {
		t.Fatalf("%s: read is %+v", name, expected)
	}
	wantDone(t, name, s.repair(expected, next))
	newest := max(5, inState)
	s.wantRepaired(name, next, newest)
	if s.read(next).InPlace {
		t.Errorf("%s: the tombstone is at the row's key", name)
	}
	wantLost(t, name+" again", s.repair(expected, next))
	s.wantOrder(name, sk, next, newest)
}

// wantRepaired checks a row or tombstone after the repair of a row of version 5. newest is the version of the row or of
// the tombstone apart, whichever is newer. A newer tombstone apart stays as it is if the repair stores a tombstone.
func (s *repairCheck) wantRepaired(what string, next view.Mutation, newest int) {
	s.t.Helper()
	v := version(s.t, newest).NextRepair()
	if next.Tombstone && newest > 5 {
		v = version(s.t, newest)
	}
	s.wantStored(what, next, next, v)
}

// wantOrder checks that an older change, and the change of version newest, do not replace the row that was repaired
// after it, and that a newer change does.
func (s *repairCheck) wantOrder(name, sk string, next view.Mutation, newest int) {
	s.t.Helper()
	wantSuperseded(s.t, name+", then a late change", s, s.target, putRow(s.t, "a", sk, newest-1, "late"))
	s.wantRepaired(name+", then a late change", next, newest)
	newer := putRow(s.t, "a", sk, 8, "newer")
	wantApplied(s.t, name+", then a newer change", s, s.target, newer)
	s.wantStored(name+", then a newer change", next, newer, version(s.t, 8))
}
