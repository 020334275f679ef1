package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// markStale changes the verdict of an item's findings from Wrong to Stale if another place of the item has a newer
// version. It also compares the item in the sinks where the item is not a suspect, because these sinks may have the
// newer version.
func (a *auditRun) markStale(ctx context.Context, checks []suspectCheck) error {
	byItem := make(map[item.Key][]*suspectCheck)
	var wrong []item.Key // items with a wrong finding
	for i := range checks {
		check := &checks[i]
		if check.item == "" || check.known == nil {
			continue
		}
		byItem[check.item] = append(byItem[check.item], check)
		isWrong := slices.ContainsFunc(check.findings, func(f audit.Finding) bool { return f.Verdict == audit.Wrong })
		if isWrong && !slices.Contains(wrong, check.item) {
			wrong = append(wrong, check.item)
		}
	}
	if err := a.checkOtherSinks(ctx, wrong, byItem); err != nil {
		return err
	}
	for _, key := range wrong {
		var bySink [][]audit.Finding
		for _, check := range byItem[key] {
			bySink = append(bySink, check.findings)
		}
		audit.MarkStale(bySink...)
	}
	return nil
}

// checkOtherSinks compares each item of keys in the sinks in which byItem has no check of the item. It adds the new
// checks to byItem.
func (a *auditRun) checkOtherSinks(
	ctx context.Context, keys []item.Key, byItem map[item.Key][]*suspectCheck,
) error {
	var checks []suspectCheck
	for _, key := range keys {
		for sink := range a.o.Sinks {
			if !slices.ContainsFunc(byItem[key], func(check *suspectCheck) bool { return check.sink == sink }) {
				checks = append(checks, suspectCheck{suspect: &suspect{sink: sink, item: key}, known: byItem[key][0].known})
			}
		}
	}
	a.runChecks(ctx, checks)
	for i := range checks {
		check := &checks[i]
		if check.err != nil && !state.IsPermanent(check.err) {
			return fmt.Errorf("%s: %w", a.o.Sinks[check.sink].Name(), check.err)
		}
		byItem[check.item] = append(byItem[check.item], check)
	}
	return nil
}
