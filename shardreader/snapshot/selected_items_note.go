package snapshot

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// SelectedRun returns the id under which the notes of a run are stored as parts. A part with the ID NAME is the note
// that the condition [SourceOptions].Selections[NAME] of run selects an item. A note is stored before the position of a
// part passes the first such item. So the note is there if any process of the backfill has passed such an item, even if
// that process was killed. Remove the notes with the backfill.
func SelectedRun(run string) string { return run + ".selected" }

// selection notes whether a condition selects an item.
type selection struct {
	name        string
	condition   pipeline.Condition
	hasSelected atomic.Bool // this process has read an item that the condition selects
	noteStored  atomic.Bool // storeSelectionNotes has stored the note of this
}

func newSelections(conditions map[string]pipeline.Condition) (all []*selection) {
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		all = append(all, &selection{name: name, condition: conditions[name]})
	}
	return all
}

// undecodableMatcher is a condition that also decides about undecodable records, such as [ItemSelection].
type undecodableMatcher interface {
	MayMatch(e *record.RecordError) bool
}

// selectsAny reports whether the condition selects an item of the page, or returns an error for it. An item that cannot
// be decoded counts if it may be selected: its dead letter fills the sink later.
func (s *selection) selectsAny(p *record.Page) bool {
	for i := range p.Changes {
		if selected, err := s.condition.Match(&p.Changes[i]); selected || err != nil {
			return true
		}
	}
	mayMatch := func(*record.RecordError) bool { return true }
	if m, ok := s.condition.(undecodableMatcher); ok {
		mayMatch = m.MayMatch
	}
	return slices.ContainsFunc(p.Errors, mayMatch)
}

// noteSelected notes which conditions select an item of the page.
func (s *Source) noteSelected(p *record.Page) {
	for _, sel := range s.selections {
		if !sel.hasSelected.Load() && sel.selectsAny(p) {
			sel.hasSelected.Store(true)
		}
	}
}

// storeSelectionNotes stores the missing notes. Each condition that has selected an item in this process has a note.
func (s *Source) storeSelectionNotes(ctx context.Context) error {
	for _, sel := range s.selections {
		if !sel.hasSelected.Load() || sel.noteStored.Load() {
			continue
		}
		note := state.Part{Run: SelectedRun(s.options.Run), ID: sel.name, Counter: 1}
		if _, err := s.options.Backfills.SetPart(ctx, state.Part{}, note); err != nil { // false: another process stored it
			return err
		}
		sel.noteStored.Store(true)
	}
	return nil
}

// Unselected returns the names of the [SourceOptions].Selections that select no item of the snapshot, sorted. Call it
// after Read has returned io.EOF.
func (s *Source) Unselected(ctx context.Context) (names []string, err error) {
	s.mu.Lock()
	isRemoved := s.removed
	s.mu.Unlock()
	if isRemoved {
		return nil, nil
	}
	for _, sel := range s.selections {
		if !sel.hasSelected.Load() {
			names = append(names, sel.name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	for note, err := range s.options.Backfills.Parts(ctx, SelectedRun(s.options.Run)) {
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == note.ID })
	}
	return names, nil
}
