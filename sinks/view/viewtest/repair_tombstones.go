package viewtest

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view"
)

// A table that was restored from a backup may have a row that is older than its tombstone. A repair gives the row the
// version of the tombstone. So a change that the tombstone refused does not replace the repaired row.
func checkRepairsBesideTombstones(t *testing.T, s *repairCheck) {
	for what, next := range map[string]view.Mutation{"a row": putRow(t, "a", "", 0, "right"),
		"a tombstone": tombstone(t, "a", "", 0)} {
		for _, newest := range []int{5, 7} {
			sk := fmt.Sprint(what, newest)
			next.SK = item.StringValue(sk)
			s.putOverTombstone(sk, newest)
			wantDone(t, what, s.repair(s.read(next), next))
			s.wantStored(what, next, next, version(t, newest))
			s.wantOrder(what, sk, next, newest)
		}
	}
}

// putOverTombstone stores a row of version 5, and a tombstone of the row in the state. apart is the sequence number of
// the tombstone's version.
func (s *repairCheck) putOverTombstone(sk string, apart int) {
	apply(s.t, s, s.target, putRow(s.t, "a", sk, 5, "wrong"))
	putBack := s.Editor.Remove(s.t, s.StateStore, s.target.Table, groupRow(s.t, "a", sk))
	apply(s.t, s, s.target, tombstone(s.t, "a", sk, apart))
	putBack()
}

// Tombstones are apart, but a person has put a tombstone at the row's key. A repair writes the row, or moves the
// tombstone to the state. The state may already have a tombstone of the row.
func checkRepairsOfTombstonesAtTheKey(t *testing.T, s *repairCheck) {
	for _, apart := range []int{0, 4, 5, 7} {
		for what, next := range map[string]view.Mutation{
			"a row": putRow(t, "a", "", 0, "right"), "a tombstone": tombstone(t, "a", "", 0),
		} {
			sk := fmt.Sprint(what, apart)
			what = fmt.Sprintf("%s, with a tombstone of %d apart", what, apart)
			next.SK = item.StringValue(sk)
			if apart > 0 {
				s.putOverTombstone(sk, apart)
			} else {
				apply(t, s, s.target, putRow(t, "a", sk, 5, "wrong"))
			}
			s.Editor.ReplaceByTombstone(t, s.StateStore, s.target.Table, groupRow(t, "a", sk))
			expected := s.read(next)
			if !expected.Tombstone || !expected.InPlace || expected.Version != version(t, 5) {
				t.Fatalf("%s: read is %+v", what, expected)
			}
			wantDone(t, what, s.repair(expected, next))
			newest := max(5, apart)
			s.wantStored(what, next, next, version(t, newest))
			if s.read(next).InPlace {
				t.Errorf("%s: the tombstone is at the row's key", what)
			}
			wantLost(t, what+" again", s.repair(expected, next))
			s.wantOrder(what, sk, next, newest)
		}
	}
}

// wantOrder checks that an older change does not replace the repaired row, and that a newer change does. newest is the
// version of the row.
func (s *repairCheck) wantOrder(what, sk string, next view.Mutation, newest int) {
	s.t.Helper()
	wantSuperseded(s.t, what+", then a late change", s, s.target, putRow(s.t, "a", sk, newest-1, "late"))
	s.wantStored(what+", then a late change", next, next, version(s.t, newest))
	newer := putRow(s.t, "a", sk, 8, "newer")
	wantApplied(s.t, what+", then a newer change", s, s.target, newer)
	s.wantStored(what+", then a newer change", next, newer, version(s.t, 8))
}
