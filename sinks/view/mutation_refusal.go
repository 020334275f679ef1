package view

import "github.com/tablewake/tablewake/sinks/state"

// StoredEntry is the row or the tombstone that a store has for a row key. A tombstone is at the key or apart from it.
type StoredEntry struct {
	state.Tombstone // version, item and void flag of the entry; zero if nothing is stored
	IsRow           bool
}

// Refusal reports whether the stored entry refuses a mutation, and returns the result of the refused mutation. A
// mutation that is not refused replaces the entry. The caller must have checked that the entry belongs to the sink's
// output.
func (t Target) Refusal(stored StoredEntry, m *Mutation) (r Result, refused bool) {
	isOtherItem := t.RefuseOtherItem && stored.Source != m.Source
	isNewer := m.TombstoneAt(m.Version).Replaces(stored.Tombstone)
	switch {
	case isOtherItem && stored.IsRow && m.Tombstone:
		return Result{Superseded: true}, true
	case isOtherItem && !m.Tombstone && (stored.IsRow || !isNewer):
		return Result{Err: &CollisionError{View: t.View, Owner: stored.Source, Source: m.Source, NotIdentified: true,
			OwnerRemoved: !stored.IsRow}}, true
	case isNewer:
		return Result{}, false
	default:
		isRepeated := stored.Version == m.Version.String()
		return Result{Superseded: !isRepeated}, true
	}
}
