package run

import (
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
)

// isNamed reports whether the audit compares named items. Such an audit does not list the contents of the sinks: it
// reads the places that the plans of the items give.
func (a *auditRun) isNamed() bool { return a.o.Items == nil && a.o.ItemsSelected }

// isWithoutJoin reports whether the audit leaves out the join of the required with the stored entries. Then the recheck
// counts the compared places; otherwise the join counts them.
func (a *auditRun) isWithoutJoin() bool { return a.o.Sample != nil || a.o.Items == nil }

// addNotes adds the notes about places of a named item that the audit does not search.
func (a *auditRun) addNotes(c *record.Change, suspects []*suspect) {
	for _, s := range suspects {
		t := &a.work.Tally.Sinks[s.sink]
		t.addNote(a.o.Sinks[s.sink].Note(c))
		if _, ok := a.o.Sinks[s.sink].(audit.GroupSink); ok {
			t.addNote("the values of groups are not compared, since other items count in them, too")
		}
	}
}

// compareNamedGroups reads the groups that a named item should count in, and adds a finding for each group that is not
// equal. If the contribution of the item differs, compareNamedGroups ignores the groups, because the repair of the
// contribution changes them.
func (a *auditRun) compareNamedGroups(ctx context.Context, check *suspectCheck) error {
	groups, ok := a.o.Sinks[check.sink].(audit.GroupSink)
	differs := func(f audit.Finding) bool { return f.Verdict != audit.Equal }
	if !ok || slices.ContainsFunc(check.findings, differs) {
		return nil
	}
	compared, err := groups.FindGroups(ctx, &check.known.Change)
	for i := range compared {
		if differs(compared[i]) {
			check.findings = append(check.findings, compared[i])
		}
	}
	return err
}
