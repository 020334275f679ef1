package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// Repair writes the contribution of an item, and changes the item's groups by the difference. It fails for a group that
// holds less than the stored contribution. So the caller calls RepairGroups first.
func (s *groupSink) Repair(ctx context.Context, c *record.Change, f Finding) (Outcome, error) {
	if f.Kind == Group {
		return Outcome{Result: Refused, Reason: "a group is repaired with the sum of all contributions"}, nil
	}
	_, done, err := s.lookAgain(ctx, s, c, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	ops, err := s.opsOf(c)
	var want []state.Share
	if err == nil {
		want, err = plannedShares(ops)
	}
	if err != nil {
		return refusedRepair(err)
	}
	stored, err := s.store.Contributions(ctx, s.t.State(), []item.Key{c.Key})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	if stored[0].Version != f.Version {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	w, err := s.aggregate.RepairContribution(c.Key, stored[0], want, c.Version)
	if err != nil {
		return refusedRepair(err)
	}
	wrote := fmt.Sprintf("contribution %s: %s, %d groups changed", f.PlaceText, countsText(len(want)), len(w.Groups))
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	rows := make([]state.Row, len(w.Groups))
	for i := range rows {
		rows[i] = w.Groups[i].Row
	}
	release, err := s.repairQueue.Wait(ctx, rows...)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	r, err := onlyOne(s.store.Contribute(ctx, s.t, []state.GroupWrite{w}))
	return s.outcome(r, err, wrote)
}

// RepairGroups sets groups to the sums of their contributions. l limits the rate. Its segment, the part of the contents
// to list, is ignored.
func (s *groupSink) RepairGroups(ctx context.Context, l state.Listing, fs []Finding) ([]Outcome, error) {
	repairer, err := storeAs[view.GroupRepairer](&s.base, s.store, "repair groups")
	if err != nil {
		return nil, err
	}
	places := make([]string, len(fs))
	for i := range fs {
		places[i] = fs[i].Place
	}
	looked, err := s.readAndCompareGroups(ctx, l, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	outcomes := make([]Outcome, len(fs))
	var differing []int
	for i := range looked {
		switch now := &looked[i].finding; {
		case now.Verdict == Busy || now.Version != fs[i].Version:
			outcomes[i] = Outcome{Result: ChangedMeanwhile}
		case now.Verdict == Skipped:
			outcomes[i] = Outcome{Result: Refused, Reason: now.Reason}
		case !now.Verdict.Differs():
			outcomes[i] = Outcome{Result: AlreadyEqual}
		default:
			differing = append(differing, i)
		}
	}
	var failed atomic.Bool
	errs := parallel.Each(len(differing), s.groupConcurrency, func(n int) (err error) {
		if failed.Load() {
			return nil
		}
		i := differing[n]
		if outcomes[i], err = s.repairGroup(ctx, l, repairer, &looked[i]); err != nil {
			failed.Store(true)
		}
		return err
	})
	return outcomes, errors.Join(errs...)
}

// groupsAtOnce is the default number of groups that are repaired concurrently.
const groupsAtOnce = 16

// repairGroup sets a group to the sum of its contributions. It waits while the store throttles it. The store writes the
// group only if the group did not change since it was read.
func (s *groupSink) repairGroup(
	ctx context.Context, l state.Listing, repairer view.GroupRepairer, g *comparedGroup,
) (Outcome, error) {
	repair := view.GroupRepair{Expected: g.stored, Next: s.sumOf(g)}
	wrote := fmt.Sprintf("group %s: %d shares", g.finding.PlaceText, repair.Next.Shares)
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	var done Outcome
	err := Patiently(ctx, l.Throttled, func() error {
		r, err := onlyOne(repairer.RepairGroups(ctx, s.t, []view.GroupRepair{repair}))
		done, err = s.outcome(r, err, wrote)
		return err
	})
	return done, err
}

// sumOf returns the group as it should be: the sum of its contributions.
func (s *groupSink) sumOf(g *comparedGroup) view.Group {
	sum := view.Group{Row: state.Row(g.finding.Place), Shares: g.sum.shares, Version: g.stored.Version}
	if sum.Version.IsZero() {
		sum.Version = g.sum.newest.Version
	}
	amounts := func(is []state.Increment) (out []state.Increment) {
		for _, i := range is {
			out = append(out, state.Increment{Name: i.Name, Amount: g.sum.numbers[i.Name]})
		}
		return out
	}
	sum.Counts, sum.Sums = amounts(g.sum.newest.Counts), amounts(g.sum.newest.Sums)
	sum.Members = slices.SortedFunc(maps.Keys(g.sum.members), func(a, b state.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value), cmp.Compare(a.ID, b.ID))
	})
	return sum
}
