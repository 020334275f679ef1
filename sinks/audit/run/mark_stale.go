package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// markStale marks the wrong findings of an item as stale if another place of the item has a newer version. It also
// compares the item in the sinks where it is not suspect, because these sinks may have the newer version.
func (a *auditRun) markStale(ctx context.Context, looks []look) error {
	byItem := make(map[item.Key][]*look)
	var wrong []item.Key
	for i := range looks {
		l := &looks[i]
		if l.item == "" || l.change == nil {
			continue
		}
		byItem[l.item] = append(byItem[l.item], l)
		isWrong := slices.ContainsFunc(l.findings, func(f audit.Finding) bool { return f.Verdict == audit.Wrong })
		if isWrong && !slices.Contains(wrong, l.item) {
			wrong = append(wrong, l.item)
		}
	}
	if err := a.lookElsewhere(ctx, wrong, byItem); err != nil {
		return err
	}
	for _, key := range wrong {
		var all []audit.Finding
		for _, l := range byItem[key] {
			all = append(all, l.findings...)
		}
		audit.MarkStale(all)
		for _, l := range byItem[key] {
			all = all[copy(l.findings, all):]
		}
	}
	return nil
}

// lookElsewhere looks at items in the sinks that byItem has no look of, and adds these looks to byItem.
func (a *auditRun) lookElsewhere(ctx context.Context, keys []item.Key, byItem map[item.Key][]*look) error {
	var looks []look
	for _, key := range keys {
		for sink := range a.o.Sinks {
			if !slices.ContainsFunc(byItem[key], func(l *look) bool { return l.sink == sink }) {
				looks = append(looks, look{suspect: &suspect{sink: sink, item: key}, change: byItem[key][0].change})
			}
		}
	}
	a.lookAtAll(ctx, looks)
	for i := range looks {
		l := &looks[i]
		if l.err != nil && !state.IsPermanent(l.err) {
			return fmt.Errorf("%s: %w", a.o.Sinks[l.sink].Name(), l.err)
		}
		byItem[l.item] = append(byItem[l.item], l)
	}
	return nil
}
