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

// Repair writes the contribution of an item, and changes the item's groups by the difference. It fails if a group holds
// less than the stored contribution. RepairGroups corrects such groups, so the caller calls it first.
func (s *groupSink) Repair(ctx context.Context, known *ItemState, f Finding) (Outcome, error) {
	if known == nil {
		return Outcome{Result: Refused, Reason: "the item is unknown"}, nil
	}
	c := &known.Change
	if f.Kind == Group {
		return Outcome{Result: Refused, Reason: "a group is repaired with the sum of all contributions"}, nil
	}
	present, done, err := s.compareAgain(ctx, s, known, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	ops, err := s.opsOf(c)
	if err != nil {
		return refusedRepair(err)
	}
	want, err := plannedShares(ops)
	if err != nil {
		return refusedRepair(err)
	}

	stored, err := s.store.Contributions(ctx, s.target.State(), []item.Key{c.Key})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	if stored[0].Version != present.Version {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	version := known.repairVersion(stored[0].Version)
	if s.keepsExpired() && !stored[0].Version.IsZero() { // the record does not show the shares of an expired item
		version = stored[0].Version.NextRepair()
	}
	write, err := s.aggregate.RepairContribution(c.Key, stored[0], want, version)
	if err != nil {
		return refusedRepair(err)
	}
	writeText := fmt.Sprintf("contribution %s: %s, changed groups: %d", f.PlaceText, countsText(len(want)),
		len(write.Groups))
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}

	rows := make([]state.Row, len(write.Groups))
	for i := range rows {
		rows[i] = write.Groups[i].Row
	}
	release, err := s.repairQueue.Wait(ctx, rows...)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	r, err := singleResult(s.store.Contribute(ctx, s.target, []state.GroupWrite{write}))
	return s.outcome(r, err, writeText)
}

// RepairGroups sets groups to the sums of their contributions. It uses l only to limit the rate, and ignores the
// segment (the part of the contents to list).
func (s *groupSink) RepairGroups(ctx context.Context, l state.Listing, fs []Finding) ([]Outcome, error) {
	repairer, err := storeAs[view.GroupRepairer](s.store, "repair groups")
	if err != nil {
		return nil, err
	}
	places := make([]string, len(fs))
	for i := range fs {
		places[i] = fs[i].Place
	}
	groups, err := s.sumAndCompareGroups(ctx, l, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}

	outcomes := make([]Outcome, len(fs))
	var differing []int // indexes of the groups to repair
	for i := range groups {
		if outcomes[i] = unrepairedGroup(&groups[i].finding, fs[i].Version); outcomes[i].Result == "" {
			differing = append(differing, i)
		}
	}

	var failed atomic.Bool
	failures := parallel.Each(len(differing), s.groupConcurrency, func(n int) error {
		if failed.Load() {
			return nil
		}
		i := differing[n]
		var err error
		if outcomes[i], err = s.repairGroup(ctx, l, repairer, &groups[i]); err != nil {
			failed.Store(true)
		}
		return err
	})
	return outcomes, errors.Join(failures...)
}

// unrepairedGroup returns the outcome of a group that is not repaired. Its Result is "" if the group is to be repaired.
// version is the version of the group at the audit.
func unrepairedGroup(present *Finding, version record.Version) Outcome {
	switch {
	case present.Verdict == Skipped:
		return Outcome{Result: Refused, Reason: present.Reason}
	case present.Verdict == Equal: // also if an interrupted repair created the group, and so gave it a version
		return Outcome{Result: AlreadyEqual}
	case present.Verdict == Busy || present.Version != version:
		return Outcome{Result: ChangedMeanwhile}
	}
	return Outcome{}
}

// defaultGroupConcurrency is the default number of groups that are repaired concurrently.
const defaultGroupConcurrency = 16

// repairGroup sets a group to the sum of its contributions. It waits while the store throttles it. The store writes the
// group only if the group did not change since it was read.
func (s *groupSink) repairGroup(
	ctx context.Context, l state.Listing, repairer view.GroupRepairer, g *comparedGroup,
) (Outcome, error) {
	repair := view.GroupRepair{Expected: g.stored, Next: g.required()}
	writeText := fmt.Sprintf("group %s: number of shares %d", g.finding.PlaceText, repair.Next.Shares)
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}
	var outcome Outcome
	err := RetryThrottled(ctx, l.Throttled, func() error {
		r, err := singleResult(repairer.RepairGroups(ctx, s.target, []view.GroupRepair{repair}))
		outcome, err = s.outcome(r, err, writeText)
		return err
	})
	return outcome, err
}

// required returns the group as it should be: the sum of its contributions. It keeps the version of a stored group.
func (g *comparedGroup) required() view.Group {
	group := view.Group{Row: state.Row(g.finding.Place), Shares: g.sum.shares, Version: g.stored.Version}
	if group.Version.IsZero() {
		group.Version = g.sum.newestVersion
	}
	group.Counts = g.sum.amounts(g.sum.lastChange.Counts)
	group.Sums = g.sum.amounts(g.sum.lastChange.Sums)
	group.Members = slices.SortedFunc(maps.Keys(g.sum.members), func(a, b state.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value), cmp.Compare(a.ID, b.ID))
	})
	return group
}

// amounts returns the total of each count or sum in increments, in the same order.
func (g *groupSum) amounts(increments []state.Increment) []state.Increment {
	var sums []state.Increment
	for _, i := range increments {
		sums = append(sums, state.Increment{Name: i.Name, Amount: g.numbers[i.Name]})
	}
	return sums
}
