package snapshot

import (
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// SelectedRun returns the id of the run whose only part is the note that the narrowing of run selects an item. The note
// is stored before the position of a part passes the first such item. So the note is there if any process of the
// backfill has passed such an item, even if that process was killed. Remove the note with the backfill.
func SelectedRun(run string) string { return run + ".selected" }

// undecodableMatcher is a narrowing that can tell undecodable records apart, such as [ItemSelection].
type undecodableMatcher interface {
	MayMatch(e *record.RecordError) bool
}

// lookForSelected sets hasSelected if the narrowing selects an item of the page, or returns an error for it. An item
// that cannot be decoded counts if it may be selected: its dead letter fills the sink later.
func (s *Source) lookForSelected(p *record.Page) {
	narrowing := s.options.Narrowing
	if narrowing == nil || s.hasSelected.Load() {
		return
	}
	for i := range p.Changes {
		if selected, err := narrowing.Match(&p.Changes[i]); selected || err != nil {
			s.hasSelected.Store(true)
			return
		}
	}
	mayMatch := func(*record.RecordError) bool { return true }
	if n, ok := narrowing.(undecodableMatcher); ok {
		mayMatch = n.MayMatch
	}
	if slices.ContainsFunc(p.Errors, mayMatch) {
		s.hasSelected.Store(true)
	}
}

// storeSelected stores the note if this process has read a selected item, and has not stored the note yet.
func (s *Source) storeSelected(ctx context.Context) error {
	if !s.hasSelected.Load() || s.noteStored.Load() {
		return nil
	}
	note := state.Part{Run: SelectedRun(s.options.Run), ID: "note", Counter: 1}
	if _, err := s.options.Backfills.SetPart(ctx, state.Part{}, note); err != nil { // false: another process stored it
		return err
	}
	s.noteStored.Store(true)
	return nil
}

// SelectsNothing reports whether the narrowing selects no item of the snapshot. Call it after Read has returned io.EOF.
func (s *Source) SelectsNothing(ctx context.Context) (bool, error) {
	s.mu.Lock()
	isRemoved := s.removed
	s.mu.Unlock()
	if s.options.Narrowing == nil || s.hasSelected.Load() || isRemoved {
		return false, nil
	}
	for _, err := range s.options.Backfills.Parts(ctx, SelectedRun(s.options.Run)) {
		return false, err
	}
	return true, nil
}
