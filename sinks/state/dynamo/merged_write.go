package dynamo

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// MergedWrite merges several ItemWrites into one transaction. An ItemWrite replaces the guard of one item, and its
// claims (requests) for rows. Each ItemWrite may build on the one before. The transaction has one action for each
// guard, owner record and claim, because DynamoDB refuses two actions on one item. The action writes the state after
// the last ItemWrite, on condition that the state before the first ItemWrite is still stored. The caller adds an action
// for each row of Rows.
type MergedWrite struct {
	db     *DB
	target state.Target
	guards []guardChange
	rows   []RowChange
	size   int // number of actions, including one for each row
}

// guardChange replaces the guard of an item.
type guardChange struct {
	source           item.Key
	expectedRevision record.Version
	expectedVoid     bool // Void of the guard that was read
	nextRevision     state.Guard
}

// RowChange is a row whose claims change.
type RowChange struct {
	Row   state.Row
	Owner state.Claim // the new owner; zero deletes the row

	expected, next string // revision that was read, and new revision
	claims         []claimChange
}

// claimChange replaces the claim of an item.
type claimChange struct {
	source item.Key
	next   state.Claim // the new claim; zero removes it
}

// NewMergedWrite returns a MergedWrite without actions.
func (db *DB) NewMergedWrite(t state.Target) *MergedWrite { return &MergedWrite{db: db, target: t} }

// Add adds w. It returns false and adds nothing if w does not build on the writes before it, or if the
// transaction would have too many actions.
func (m *MergedWrite) Add(w *state.ItemWrite) bool {
	g := find(m.guards, func(g *guardChange) bool { return g.source == w.Source })
	if g != nil && (g.nextRevision.Version != w.Expected || g.nextRevision.Void != w.ExpectedVoid) {
		return false
	}
	newActions := 0
	if g == nil {
		newActions++
	}
	for i := range w.Rows {
		r := m.rowChange(w.Rows[i].Row)
		switch {
		case r == nil:
			newActions += 3 // owner record, claim, row
		case r.next != w.Rows[i].Expected:
			return false
		case r.claim(w.Source) == nil:
			newActions++
		}
	}
	if m.size+newActions > MaxActions {
		return false
	}
	m.size += newActions
	if g == nil {
		m.guards = append(m.guards, guardChange{
			source: w.Source, expectedRevision: w.Expected, expectedVoid: w.ExpectedVoid, nextRevision: w.Guard,
		})
	} else {
		g.nextRevision = w.Guard
	}
	for i := range w.Rows {
		m.addRow(w.Source, &w.Rows[i])
	}
	return true
}

// addRow adds the claim of an item on a row.
func (m *MergedWrite) addRow(source item.Key, w *state.RowClaimsWrite) {
	r := m.rowChange(w.Row)
	if r == nil {
		m.rows = append(m.rows, RowChange{Row: w.Row, expected: w.Expected})
		r = &m.rows[len(m.rows)-1]
	}
	r.next, r.Owner = w.Revision, w.Owner
	if c := r.claim(source); c != nil {
		c.next = w.Claim
	} else {
		r.claims = append(r.claims, claimChange{source, w.Claim})
	}
}

func (m *MergedWrite) rowChange(row state.Row) *RowChange {
	return find(m.rows, func(r *RowChange) bool { return r.Row == row })
}

func (r *RowChange) claim(source item.Key) *claimChange {
	return find(r.claims, func(c *claimChange) bool { return c.source == source })
}

// find returns the first element that match accepts, or nil if match accepts no element.
func find[T any](all []T, match func(*T) bool) *T {
	for i := range all {
		if match(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Rows returns the rows whose claims change.
func (m *MergedWrite) Rows() []RowChange { return m.rows }

// Claimed reports whether the row had a claim when it was read.
func (r *RowChange) Claimed() bool { return r.expected != "" }

// Actions returns the actions of the transaction. subjects describes the item that each action writes, for errors. If a
// condition is not met, a guard or the claims on a row have changed since they were read.
func (m *MergedWrite) Actions() (actions []Action, subjects []string) {
	add := func(subject string, a Action) { actions, subjects = append(actions, a), append(subjects, subject) }
	actions, subjects = slices.Grow(actions, m.size), slices.Grow(subjects, m.size)
	for _, g := range m.guards {
		add("the guard of an item", m.db.setGuard(m.target, g.source, g.expectedRevision, g.expectedVoid, g.nextRevision))
	}
	for i := range m.rows {
		r := &m.rows[i]
		add("the owner of a row", m.setOwner(r))
		for c := range r.claims {
			ref := m.db.ClaimRef(m.target, r.Row, r.claims[c].source)
			if claim := &r.claims[c].next; claim.Source == "" {
				add("a claim on a row", Delete(ref, Condition{}))
			} else {
				add("a claim on a row", Put(ref.Table, claimItem(ref.Key, claim), Condition{}))
			}
		}
	}
	return actions, subjects
}

// setOwner returns the action that replaces or deletes the owner record of a row, on condition that it still has the
// revision that was read.
func (m *MergedWrite) setOwner(r *RowChange) Action {
	ref := m.db.OwnerRef(m.target, r.Row)
	unchanged := Condition{Text: "attribute_not_exists(pk)"}
	if r.expected != "" {
		unchanged = Condition{Text: "revision = :was", Values: Item{":was": S(r.expected)}}
	}
	if r.next == "" {
		return Delete(ref, unchanged)
	}
	return Put(ref.Table, withAttributes(ref.Key, Item{attrRevision: S(r.next), attrOwnerKey: S(string(r.Owner.Source))}),
		unchanged)
}
