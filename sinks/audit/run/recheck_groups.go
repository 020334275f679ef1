package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/sinks/audit"
)

// groupRounds is the number of times that a changing group is compared before its verdict is Busy. The number is small
// because each comparison reads all contributions.
const groupRounds = 3

// recheckGroups compares the suspect groups with the sums of their contributions. A group that changes meanwhile is
// compared again.
func (a *auditRun) recheckGroups(ctx context.Context) error {
	for n, sink := range a.o.Sinks {
		groups, ok := sink.(audit.GroupSink)
		if !ok {
			continue
		}
		places := a.chooseGroups(a.suspectGroups(n))
		if a.isWithoutJoin() {
			counts := &a.work.Tally.Sinks[n]
			counts.Compared += int64(len(places))
			counts.Groups = int64(len(places))
		}
		if err := a.compareGroups(ctx, n, groups, places); err != nil {
			return err
		}
	}
	return nil
}

// suspectGroups returns the suspect groups of the sink with index n, sorted.
func (a *auditRun) suspectGroups(n int) (places []string) {
	for _, g := range a.work.Groups {
		if g.Sink == n {
			places = append(places, string(g.Place))
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// compareGroups compares groups of a sink with their sums, and reports the differences. n is the index of the sink. A
// group that changes meanwhile is compared again. If the group still changes in the last round, it is reported as Busy.
func (a *auditRun) compareGroups(ctx context.Context, n int, groups audit.GroupSink, places []string) error {
	for round := 1; len(places) > 0; round++ {
		a.o.WaitForStream(ctx)
		findings, err := groups.CompareGroups(ctx, a.o.Budget.listing(), places)
		if err != nil {
			return fmt.Errorf("%s: %w", groups.Name(), err)
		}
		places = nil
		isLastRound := round == groupRounds
		for i := range findings {
			f := &findings[i]
			switch {
			case f.Verdict == audit.Equal:
				continue
			case f.Verdict == audit.Busy && !isLastRound:
				places = append(places, f.Place)
				continue
			case f.Verdict.Differs():
				a.work.Tally.Sinks[n].GroupsDiffering++
			}
			if err := a.reportFinding(n, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportFinding counts a finding of a sink, and adds it to the report.
func (a *auditRun) reportFinding(sink int, f *audit.Finding) error {
	t := &a.work.Tally.Sinks[sink]
	t.Findings[f.Verdict]++
	if f.Unread {
		t.addNote("it has changes that no named record has, and that an export does not show: " +
			"name the records of these changes, too")
	}
	return a.report.add(line{Sink: a.o.Sinks[sink].Name(), Finding: f})
}

// maxSampledGroups is the maximum number of groups of a sink in a sample. The number is limited because each group is
// read twice.
const maxSampledGroups = 1000

// chooseGroups returns the places of the groups to compare. If a sample has more than maxSampledGroups groups, it
// chooses some of them. Different audits choose different groups.
func (a *auditRun) chooseGroups(places []string) []string {
	if a.o.Sample == nil || len(places) <= maxSampledGroups {
		return places
	}
	slices.SortFunc(places, func(x, y string) int {
		return cmp.Compare(hashOf(a.work.Header.Run, x), hashOf(a.work.Header.Run, y))
	})
	return places[:maxSampledGroups]
}
