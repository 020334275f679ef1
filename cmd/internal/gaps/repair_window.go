package gaps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/state"
)

// slack is the maximum difference between the creation times of records and the write times of an export.
const slack = time.Minute

// window is a time range: from is inclusive, to is exclusive.
type window struct{ from, to time.Time }

func (w window) String() string {
	return w.from.Format(time.RFC3339) + " to " + w.to.Format(time.RFC3339)
}

// windowOf returns the window in which the lost changes of a gap were made. It returns an error if the beginning of the
// window is unknown.
func windowOf(g state.NotedGap) (window, error) {
	if g.From.IsZero() {
		return window{}, fmt.Errorf(
			"%s: it is unknown since when changes were lost, so no export can cover it: repair it with --audit",
			describe(g))
	}
	begin := g.From.Add(-slack).Truncate(time.Second)
	end := ceilSecond(state.LastLost(g.Gap).Add(slack))
	return window{begin.UTC(), end.UTC()}, nil
}

// ceilSecond returns the first full second that is not before t.
func ceilSecond(t time.Time) time.Time {
	second := t.Truncate(time.Second)
	if second.Before(t) {
		return second.Add(time.Second)
	}
	return second
}

// windowsOf returns the windows of gaps. It merges windows that overlap.
func windowsOf(gaps []state.NotedGap) ([]window, error) {
	var windows []window
	for _, g := range gaps {
		w, err := windowOf(g)
		if err != nil {
			return nil, err
		}
		windows = append(windows, w)
	}
	return mergeWindows(windows), nil
}

// mergeWindows returns windows in the order of their times. It merges windows that overlap or touch.
func mergeWindows(windows []window) (merged []window) {
	sorted := slices.Clone(windows)
	slices.SortFunc(sorted, func(a, b window) int { return a.from.Compare(b.from) })
	for _, w := range sorted {
		if len(merged) == 0 || w.from.After(merged[len(merged)-1].to) {
			merged = append(merged, w)
			continue
		}
		last := &merged[len(merged)-1]
		if w.to.After(last.to) {
			last.to = w.to
		}
	}
	return merged
}

// uncoveredWindows returns the parts of wanted that are in no window of covered.
func uncoveredWindows(wanted, covered []window) (uncovered []window) {
	covered = mergeWindows(covered)
	for _, w := range wanted {
		uncovered = append(uncovered, w.without(covered)...)
	}
	return uncovered
}

// without returns the parts of w that are in no window of covered. The windows of covered must be in order and must not
// overlap.
func (w window) without(covered []window) (parts []window) {
	for _, c := range covered {
		overlaps := c.to.After(w.from) && c.from.Before(w.to)
		if !overlaps {
			continue
		}
		if c.from.After(w.from) {
			parts = append(parts, window{w.from, c.from})
		}
		w.from = c.to
	}
	if w.from.Before(w.to) {
		parts = append(parts, w)
	}
	return parts
}

// exportable divides a window into windows of exports. Each has at least 15 minutes and at most 24 hours. A short
// window is extended backwards, because its end may be the latest time that can be exported.
func exportable(w window) (parts []window) {
	if w.to.Sub(w.from) < export.MinWindow {
		w.from = w.to.Add(-export.MinWindow)
	}
	duration := w.to.Sub(w.from)
	n := (duration + export.MaxWindow - 1) / export.MaxWindow // rounded up
	step := duration / n
	if step%time.Second > 0 {
		step = step.Truncate(time.Second) + time.Second // rounded up, so that the last window is the shortest
	}
	for from := w.from; from.Before(w.to); from = from.Add(step) {
		to := from.Add(step)
		if to.After(w.to) {
			to = w.to
		}
		parts = append(parts, window{from, to})
	}
	return parts
}

// notCoveredError returns the error of windows that no export covers.
func notCoveredError(uncovered []window) error {
	var texts []string
	for _, w := range uncovered {
		for _, e := range exportable(w) {
			texts = append(texts, e.String())
		}
	}
	return fmt.Errorf(
		"the exports do not cover the gaps: export the changes of %s, too, with NEW_AND_OLD_IMAGES, and name that export with --export; --start-export --bucket BUCKET does it", strings.Join(texts, ", and of "))
}
