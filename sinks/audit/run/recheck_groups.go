package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/sinks/audit"
)

// groupRounds is the number of comparisons of a changing group before it is Busy. Each comparison reads all
// contributions.
const groupRounds = 3

// recheckGroups compares the groups that were not equal with the sums of the contributions. A group that changes
// meanwhile is compared again.
func (a *auditRun) recheckGroups(ctx context.Context) error {
	for n, sink := range a.o.Sinks {
		groups, ok := sink.(audit.GroupSink)
		if !ok {
			continue
		}
		var places []string
		for _, g := range a.work.Groups {
			if g.Sink == n {
				places = append(places, string(g.Place))
			}
		}
		slices.Sort(places)
		places = a.chooseGroups(slices.Compact(places))
		t := &a.work.Tally.Sinks[n]
		if a.o.Sample != nil || a.o.Items == nil {
			t.Compared += int64(len(places))
			t.Groups = int64(len(places))
		}
		for round := 0; len(places) > 0; round++ {
			a.o.WaitForStream(ctx)
			findings, err := groups.CompareGroups(ctx, a.o.Budget.listing(), places)
			if err != nil {
				return fmt.Errorf("%s: %w", sink.Name(), err)
			}
			places = places[:0]
			for i := range findings {
				f := &findings[i]
				switch {
				case f.Verdict == audit.Busy && round+1 < groupRounds:
					places = append(places, f.Place)
				case f.Verdict == audit.Equal:
				default:
					t.Findings[f.Verdict]++
					if f.Verdict.Differs() {
						t.GroupsDiffering++
					}
					if err := a.report.add(line{Sink: sink.Name(), Finding: f}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// maxSampledGroups is the maximum number of groups of a sink in a sample: each is read twice.
const maxSampledGroups = 1000

// chooseGroups returns the places of groups to look at. If a sample has too many groups, each run chooses others.
func (a *auditRun) chooseGroups(places []string) []string {
	if a.o.Sample == nil || len(places) <= maxSampledGroups {
		return places
	}
	slices.SortFunc(places, func(x, y string) int {
		return cmp.Compare(hashOf(a.work.Header.Run, x), hashOf(a.work.Header.Run, y))
	})
	return places[:maxSampledGroups]
}
