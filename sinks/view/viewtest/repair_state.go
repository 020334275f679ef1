package viewtest

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// eventTimings returns functions that make an event happen while a repair is not finished: "before" the repair starts,
// or "between" its read and its write. The caller makes the repair after the call.
func (s *repairCheck) eventTimings() map[string]func(event func()) {
	moments := map[string]func(event func()){"before": func(event func()) { event() }}
	if s.BeforeRepairWrite != nil {
		moments["between"] = func(event func()) { s.BeforeRepairWrite(s.StateStore, event) }
	}
	return moments
}

// claimRepair returns the write that puts the claim of an item on the row r again. guard is the version of the item's
// guard.
func (s *repairCheck) claimRepair(key item.Key, guard record.Version, r state.Row, text string) state.ItemWrite {
	s.t.Helper()
	rcs, err := s.RowClaims(s.t.Context(), s.target, []state.Row{r})
	must(s.t, err)
	c := claimOf(s.t, key, 0, text)
	c.Version = guard.NextRepair()
	return state.ItemWrite{
		Source: key, Expected: guard, Guard: state.Guard{Version: c.Version, Row: r},
		Rows: []state.RowClaimsWrite{{Row: r, Expected: rcs[0].Revision, Revision: rcs[0].Revision + "'", Claim: c, Owner: c}},
	}
}

// writeItem makes one write and returns its result.
func (s *repairCheck) writeItem(w state.ItemWrite) view.Result {
	s.t.Helper()
	return s.onlyResult(s.WriteItems(s.t.Context(), s.target, []state.ItemWrite{w}))
}

// Claims are repaired by a write like that of a change. The write corrects the row, whatever a person did to the row.
func checkRepairsOfClaims(t *testing.T, s *repairCheck) {
	row := func(sk string) state.Row { return makeRow(t, "r", sk) }
	inPlace := s.target
	inPlace.InPlace = true
	for name, damage := range map[string]func(sk string){
		"changed": func(sk string) { s.Editor.Set(t, s.StateStore, s.target.Table, row(sk), "text", "wrong") },
		"removed": func(sk string) { s.Editor.Remove(t, s.StateStore, s.target.Table, row(sk)) },
		"buried": func(sk string) {
			s.Editor.Remove(t, s.StateStore, s.target.Table, row(sk))
			apply(t, s, inPlace, tombstone(t, "r", sk, 5))
		},
		"right": func(string) {},
	} {
		s.claimRow(name, "right")
		damage(name)
		repair := s.claimRepair(item.Key(name), version(t, 5), row(name), "right")
		wantDone(t, name, s.writeItem(repair))
		repairedVersion := repair.Guard.Version
		if got := rowText(s.readRow(row(name))); got != liveRowText(repairedVersion, `{"S":"right"}`) {
			t.Errorf("%s: stored is %s", name, got)
		}
		wantLost(t, name+", again", s.writeItem(repair))
		later := s.claimRepair(item.Key(name), repairedVersion, row(name), "newer")
		newVersion := version(t, 6)
		later.Guard.Version, later.Rows[0].Claim.Version, later.Rows[0].Owner.Version = newVersion, newVersion, newVersion
		wantDone(t, name+", then a newer change", s.writeItem(later))
		s.wantGuards([]item.Key{item.Key(name)}, state.Guard{Version: newVersion, Row: row(name)})
	}
	s.repairExtraRow()
	s.repairMovedClaim()
	s.repairForeignRow()
}

// claimRow writes the guard and the claim of an item that claims the row at sk. No other item claims this row. The key
// of the item is sk.
func (s *repairCheck) claimRow(sk, text string) {
	s.t.Helper()
	c := claimOf(s.t, item.Key(sk), 5, text)
	s.wantWrites(".", itemWrite(s.t, c.Source, 0, 5, sk, claimsWrite(s.t, sk, "", "r1", c, c)))
}

// repairExtraRow checks that a repair deletes a row without a claim. Such a row is the result of damage.
func (s *repairCheck) repairExtraRow() {
	extra := makeRow(s.t, "r", "extra")
	s.claimRow("extra", "right")
	putBack := s.Editor.Remove(s.t, s.StateStore, s.target.Table, extra)
	s.wantWrites(".", state.ItemWrite{
		Source: "extra", Expected: version(s.t, 5), Guard: state.Guard{Version: version(s.t, 6)},
		Rows: []state.RowClaimsWrite{{Row: extra, Expected: "r1"}},
	})
	putBack()
	s.wantWrites(".", state.ItemWrite{
		Source: "extra", Expected: version(s.t, 6), Guard: state.Guard{Version: version(s.t, 6)},
		Rows: []state.RowClaimsWrite{{Row: extra}},
	})
	if got := s.readRow(extra); got.Exists {
		s.t.Errorf("the extra row is %s", rowText(got))
	}
}

// repairMovedClaim checks that a repair moves a claim from the wrong row to the right row.
func (s *repairCheck) repairMovedClaim() {
	from, to := makeRow(s.t, "r", "from"), makeRow(s.t, "r", "to")
	s.claimRow("from", "right")
	moved := s.claimRepair("from", version(s.t, 5), to, "right")
	moved.Rows = append(moved.Rows, state.RowClaimsWrite{Row: from, Expected: "r1"})
	s.wantWrites(".", moved)
	s.wantGuards([]item.Key{"from"}, state.Guard{Version: version(s.t, 5).NextRepair(), Row: to})
	if got := s.readRow(from); got.Exists {
		s.t.Errorf("the former row is %s", rowText(got))
	}
}

// repairForeignRow checks that a repair fails with the name of the owner if the row belongs to another sink by now.
func (s *repairCheck) repairForeignRow() {
	taken := makeRow(s.t, "r", "taken")
	s.claimRow("taken", "right")
	s.Editor.Remove(s.t, s.StateStore, s.target.Table, taken)
	other := s.target
	other.View = "two"
	theirs := theirRow(s.t, "r", "taken")
	apply(s.t, s, other, theirs)
	r := s.writeItem(s.claimRepair("taken", version(s.t, 5), taken, "right"))
	wantForeign(s.t, "another sink's row", r.Err, other, taken)
	if got := s.readRow(taken); got.View != "two" || got.Version != theirs.Version {
		s.t.Errorf("the other sink's row is %+v", got)
	}
}

// theirRow returns the put of a row by another sink.
func theirRow(t *testing.T, pk, sk string) view.Mutation { return putRow(t, pk, sk, 9, "theirs") }

// A repair of claims is lost if a change of the stream or another repair comes first.
func checkClaimRepairsRace(t *testing.T, s *repairCheck) {
	other := s.reopen()
	for moment, at := range s.eventTimings() {
		for name, event := range map[string]func(state.ItemWrite) state.ItemWrite{
			"a newer change": func(w state.ItemWrite) state.ItemWrite { w.Guard.Version = version(t, 6); return w },
			"another repair": func(w state.ItemWrite) state.ItemWrite { return w },
		} {
			sk := moment + " " + name
			key, r := item.Key(sk), makeRow(t, "r", sk)
			s.claimRow(sk, "wrong")
			repair := s.claimRepair(key, version(t, 5), r, "right")
			first := event(s.claimRepair(key, version(t, 5), r, "first"))
			at(func() { other.wantWrites(".", first) })
			wantLost(t, sk, s.writeItem(repair))
			s.wantGuards([]item.Key{key}, first.Guard)
			if got := rowText(s.readRow(r)); got != liveRowText(first.Rows[0].Claim.Version, `{"S":"first"}`) {
				t.Errorf("%s: stored is %s", sk, got)
			}
		}
	}
	s.claimRow("parallel", "wrong")
	repair := s.claimRepair("parallel", version(t, 5), makeRow(t, "r", "parallel"), "right")
	wantOneDone(t, "in parallel", func(i int) view.Result { return []*repairCheck{s, other}[i%2].writeItem(repair) })
}

// After a repair of an item's claim, changes of the item have their usual effect. Older changes, and the change before
// the repair, change nothing. Newer changes win.
func checkClaimsAfterRepairs(t *testing.T, s *repairCheck) {
	stream := itemStream(t)
	sink := newSink(t, s.StateStore, "GuardedByItem", s.target.View, s.target.Pipeline, s.target.Birth)
	must(t, writeOne(t, sink, stream, 1))
	key, at := stream.Changes[1].Key, stream.Changes[1].Version
	r := makeRow(t, "r", "a,1")
	s.Editor.Remove(t, s.StateStore, s.target.Table, r)
	wantDone(t, "the repair of a claim", s.writeItem(s.claimRepair(key, at, r, "right")))
	for _, change := range []int{0, 1} {
		must(t, writeOne(t, sink, stream, change))
		if got := rowText(s.readRow(r)); got != liveRowText(at.NextRepair(), `{"S":"right"}`) {
			t.Errorf("after change %d stored is %s", change, got)
		}
	}
	must(t, writeOne(t, sink, stream, 2))
	if got := s.readRow(r); got.Exists {
		t.Errorf("after the removal stored is %s", rowText(got))
	}
}

// wrongShare is the amount of a contribution before its repair. rightShare is its amount after the repair.
const (
	wrongShare = "10"
	rightShare = "7"
)

// contributionRepair returns the write that replaces the shares of a contribution, and makes the change c of its group.
// at is the stored version; it is zero if no contribution is stored. expected and next are the shares before and after
// the repair.
func contributionRepair(
	t *testing.T, key item.Key, at record.Version, expected, next []state.Share, c state.GroupChange,
) state.GroupWrite {
	t.Helper()
	var stored state.Contribution
	if !at.IsZero() {
		stored = state.Contribution{Version: at, Since: version(t, 1), Shares: expected}
	}
	return groupWrite(state.ContributionWrite{Source: key, Expected: stored,
		Next: state.Contribution{Version: at.NextRepair(), Since: version(t, 1), Shares: next}}, c)
}

// amountRepair returns the repair that changes the amount of the item a from wrongShare to rightShare. at is the
// version of the item's contribution.
func amountRepair(t *testing.T, at record.Version) state.GroupWrite {
	t.Helper()
	return contributionRepair(t, "a", at, oneShare(t, wrongShare), oneShare(t, rightShare),
		replaceAmount(t, "a", wrongShare, rightShare))
}

// oneShare returns the share of an amount in the group (g, 1). The group has a sum, a min, a max and a distinct.
func oneShare(t *testing.T, amount string) []state.Share {
	return []state.Share{{Group: makeRow(t, "g", "1"), Values: []string{amount, sortable(t, `{"N":"`+amount+`"}`)}}}
}

// replaceAmount returns the change of the group (g, 1) if an item's amount changes. before and after are the amounts
// before and after the change; "" means that the item does not count.
func replaceAmount(t *testing.T, key item.Key, before, after string) state.GroupChange {
	kinds := map[string]state.MemberKind{"lo": state.Min, "hi": state.Max, "different": state.Distinct}
	c := state.GroupChange{Row: makeRow(t, "g", "1"), Version: version(t, 1)}
	total := number(t, "0")
	if before != "" {
		c.Shares--
		total = total.Add(number(t, before).Neg())
		c.Members = append(c.Members, memberChanges(t, kinds, removeMember(string(key), `{"N":"`+before+`"}`))...)
	}
	if after != "" {
		c.Shares++
		total = total.Add(number(t, after))
		c.Members = append(c.Members, memberChanges(t, kinds, addMember(string(key), `{"N":"`+after+`"}`))...)
	}
	c.Sums = []state.Increment{{Name: "revenue", Amount: total}}
	return c
}

// groupJSON returns the row of the group (g, 1) with these amounts. amounts must be different, and sorted, the least
// first.
func groupJSON(t *testing.T, amounts ...string) string {
	t.Helper()
	total := number(t, "0")
	for _, a := range amounts {
		total = total.Add(number(t, a))
	}
	return fmt.Sprintf(
		`{"PK":{"S":"g"},"SK":{"S":"1"},"different":{"N":"%d"},"hi":{"N":"%s"},"lo":{"N":"%s"},"revenue":%s}`,
		len(amounts), amounts[len(amounts)-1], amounts[0], total.Value().AppendDynamoDBJSON(nil))
}

// If two repairs of a contribution read the same shares, the second repair is lost.
func checkRepairsOfContributions(t *testing.T, s *repairCheck) {
	s.mustWrite("another item", groupWrite(state.ContributionWrite{Source: "b",
		Next: state.Contribution{Version: version(t, 1), Shares: oneShare(t, "8")}}, replaceAmount(t, "b", "", "8")))
	s.mustWrite("the wrong amount", groupWrite(state.ContributionWrite{Source: "a",
		Next: state.Contribution{Version: version(t, 5), Since: version(t, 1), Shares: oneShare(t, wrongShare)}},
		replaceAmount(t, "a", "", wrongShare)))
	s.wantRows(groupJSON(t, "8", "10"))

	repair := amountRepair(t, version(t, 5))
	s.mustWrite("the repair", repair)
	s.wantRows(groupJSON(t, "7", "8"))
	wantLost(t, "the repair again", s.write(repair))
	s.wantRows(groupJSON(t, "7", "8"))
	repaired := version(t, 5).NextRepair()
	if c := s.contribution("a"); c.Version != repaired || len(c.Shares) != 1 ||
		!c.Shares[0].Equal(oneShare(t, rightShare)[0]) {
		t.Errorf("the contribution is %+v", c)
	}

	gone := contributionRepair(t, "a", repaired, oneShare(t, rightShare), nil, replaceAmount(t, "a", rightShare, ""))
	s.mustWrite("an extra item", gone)
	s.wantRows(groupJSON(t, "8"))
	wantLost(t, "the extra item again", s.write(gone))
	back := contributionRepair(t, "a", repaired.NextRepair(), nil, oneShare(t, rightShare), replaceAmount(t, "a", "", rightShare))
	s.mustWrite("a missing item of which the removal is known", back)
	wantLost(t, "the missing item again", s.write(back))

	unknown := contributionRepair(t, "c", record.Version{}, nil, oneShare(t, "9"), replaceAmount(t, "c", "", "9"))
	unknown.Items[0].Next.Version = backfillVersion(t)
	s.mustWrite("an item that is not known", unknown)
	wantLost(t, "the unknown item again", s.write(unknown))
	s.wantRows(groupJSON(t, "7", "8", "9"))
	s.mustWrite("a newer change", groupWrite(state.ContributionWrite{Source: "c",
		Expected: state.Contribution{Version: backfillVersion(t)},
		Next:     state.Contribution{Version: version(t, 6), Shares: oneShare(t, "11")}}, replaceAmount(t, "c", "9", "11")))
	s.wantRows(groupJSON(t, "7", "8", "11"))
}

// A repair of a contribution is lost if a newer change or another repair comes first. Then the repair changes nothing.
func checkContributionRepairsRace(t *testing.T, s *repairCheck) {
	other := s.reopen()
	type contribution struct {
		amount  string
		version record.Version
	}
	replace := func(what string, by *repairCheck, stored, next contribution) {
		t.Helper()
		w := contributionRepair(t, "a", stored.version, nil, oneShare(t, next.amount),
			replaceAmount(t, "a", stored.amount, next.amount))
		w.Items[0].Next.Version = next.version
		by.mustWrite(what, w)
	}
	var stored contribution
	sequence := 5
	for moment, at := range s.eventTimings() {
		for _, name := range []string{"a newer change", "another repair"} {
			sequence += 2
			wrong := contribution{wrongShare, version(t, sequence)}
			replace("the wrong amount", s, stored, wrong)
			repair := amountRepair(t, wrong.version)
			stored = contribution{"12", wrong.version.NextRepair()}
			if name == "a newer change" {
				stored.version = version(t, sequence+1)
			}
			at(func() { replace(name, other, wrong, stored) })
			wantLost(t, fmt.Sprintf("%s %s", name, moment), s.write(repair))
			s.wantRows(groupJSON(t, "12"))
		}
	}
	wrong := contribution{wrongShare, version(t, sequence+2)}
	replace("the wrong amount", s, stored, wrong)
	repair := amountRepair(t, wrong.version)
	wantOneDone(t, "in parallel", func(i int) view.Result { return []*repairCheck{s, other}[i%2].write(repair) })
	s.wantRows(groupJSON(t, "7"))
}
