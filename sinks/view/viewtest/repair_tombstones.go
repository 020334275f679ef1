package viewtest

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/sinks/view"
)

// A row that came back beside its newer tombstone, as from a backup of its table, gets the tombstone's version. So a
// change that the tombstone refused does not win over the repaired row.
func repairsBesideTombstones(t *testing.T, s *repairCheck) {
	for what, now := range map[string]view.Mutation{"a row": row(t, "a", "1", 0, "right"), "a tombstone": tombstone(t, "a", "2", 0)} {
		for _, newest := range []int{5, 7} {
			sk, _ := now.SK.Text()
			now := now
			sk = fmt.Sprint(sk, newest)
			now.SK = value(t, `{"S":"`+sk+`"}`)
			apply(t, s, s.target, row(t, "a", sk, 5, "wrong"))
			putBack := s.Hand.Take(t, s.StateStore, s.target.Table, groupRow(t, "a", sk))
			apply(t, s, s.target, tombstone(t, "a", sk, newest))
			putBack()
			wantDone(t, what, s.repair(s.read(now), now))
			s.wantStored(what, now, now, version(t, newest))
			s.wantOrder(what, sk, now, newest)
		}
	}
}

// A person makes a row a tombstone in the row's own place, where tombstones are apart. A repair writes the row, or moves
// the tombstone to where it should be. There may be one already.
func repairsOfTombstonesAtTheKey(t *testing.T, s *repairCheck) {
	for _, apart := range []int{0, 4, 5, 7} {
		for what, now := range map[string]view.Mutation{
			"a row": row(t, "a", "row", 0, "right"), "a tombstone": tombstone(t, "a", "tombstone", 0),
		} {
			what = fmt.Sprintf("%s, with a tombstone of %d apart", what, apart)
			sk, _ := now.SK.Text()
			sk = fmt.Sprint(sk, apart)
			now.SK = value(t, `{"S":"`+sk+`"}`)
			apply(t, s, s.target, row(t, "a", sk, 5, "lost"))
			if apart > 0 {
				putBack := s.Hand.Take(t, s.StateStore, s.target.Table, groupRow(t, "a", sk))
				apply(t, s, s.target, tombstone(t, "a", sk, apart))
				putBack()
			}
			s.Hand.Bury(t, s.StateStore, s.target.Table, groupRow(t, "a", sk))
			was := s.read(now)
			if !was.Tombstone || !was.InPlace || was.Version != version(t, 5) {
				t.Fatalf("%s: read is %+v", what, was)
			}
			wantDone(t, what, s.repair(was, now))
			newest := max(5, apart)
			s.wantStored(what, now, now, version(t, newest))
			if s.read(now).InPlace {
				t.Errorf("%s: the tombstone is at the row's key", what)
			}
			wantLost(t, what+" again", s.repair(was, now))
			s.wantOrder(what, sk, now, newest)
		}
	}
}

// wantOrder expects that a repaired row of a version refuses an older change, and not a newer one.
func (s *repairCheck) wantOrder(what, sk string, now view.Mutation, newest int) {
	s.t.Helper()
	same(s.t, what+", then a late change", apply(s.t, s, s.target, row(s.t, "a", sk, newest-1, "late")), []bool{true})
	s.wantStored(what+", then a late change", now, now, version(s.t, newest))
	newer := row(s.t, "a", sk, 8, "newer")
	same(s.t, what+", then a newer change", apply(s.t, s, s.target, newer), []bool{false})
	s.wantStored(what+", then a newer change", now, newer, version(s.t, 8))
}
