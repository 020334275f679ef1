package dynamo

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// MergedWrite merges several ItemWrites into one transaction. An ItemWrite replaces the guard of one item, and the
// item's claims on rows. A claim is an item's request for a row. Each ItemWrite may build on the ItemWrites before it.
// The transaction has one action for each guard, owner record and claim, because DynamoDB refuses two actions on one
// item. The transaction writes the state after the last ItemWrite. It writes nothing if a guard or a revision has
// changed since the ItemWrites were planned. The caller adds an action for each row of Rows.
type MergedWrite struct {
	db     *DB
	target state.Target
	guards []guardChange
	rows   []RowChange
	size   int // number of actions, including one for each row
}

// guardChange replaces the guard of an item.
type guardChange struct {
	source       item.Key
	expected     record.Version // version of the guard that was read
	expectedVoid bool           // the guard that was read is void
	next         state.Guard
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
	if !m.canFollow(w) {
		return false
	}
	newActions := m.newActions(w)
	if m.size+newActions > MaxActions {
		return false
	}

	m.size += newActions
	if g := m.guardChange(w.Source); g != nil {
		g.next = w.Guard
	} else {
		m.guards = append(m.guards,
			guardChange{source: w.Source, expected: w.Expected, expectedVoid: w.ExpectedVoid, next: w.Guard})
	}
	for i := range w.Rows {
		m.addRow(w.Source, &w.Rows[i])
	}
	return true
}

// canFollow reports whether w expects the guard and the revisions that the writes before it set.
func (m *MergedWrite) canFollow(w *state.ItemWrite) bool {
	g := m.guardChange(w.Source)
	if g != nil && (g.next.Version != w.Expected || g.next.Void != w.ExpectedVoid) {
		return false
	}
	for i := range w.Rows {
		r := m.rowChange(w.Rows[i].Row)
		if r != nil && r.next != w.Rows[i].Expected {
			return false
		}
	}
	return true
}

// newActions returns the number of actions that w adds to the transaction.
func (m *MergedWrite) newActions(w *state.ItemWrite) (n int) {
	if m.guardChange(w.Source) == nil {
		n++
	}
	for i := range w.Rows {
		r := m.rowChange(w.Rows[i].Row)
		if r == nil {
			n += 3 // owner record, claim, row
		} else if r.claimChange(w.Source) == nil {
			n++
		}
	}
	return n
}

// addRow adds the claim of an item on a row.
func (m *MergedWrite) addRow(source item.Key, w *state.RowClaimsWrite) {
	r := m.rowChange(w.Row)
	if r == nil {
		m.rows = append(m.rows, RowChange{Row: w.Row, expected: w.Expected})
		r = &m.rows[len(m.rows)-1]
	}
	r.next, r.Owner = w.Revision, w.Owner

	if c := r.claimChange(source); c != nil {
		c.next = w.Claim
	} else {
		r.claims = append(r.claims, claimChange{source, w.Claim})
	}
}

// guardChange returns the change of the guard of an item, or nil if the guard does not change.
func (m *MergedWrite) guardChange(source item.Key) *guardChange {
	return find(m.guards, func(g *guardChange) bool { return g.source == source })
}

// rowChange returns the change of a row's claims, or nil if they do not change.
func (m *MergedWrite) rowChange(row state.Row) *RowChange {
	return find(m.rows, func(r *RowChange) bool { return r.Row == row })
}

// claimChange returns the change of an item's claim on the row, or nil if the claim does not change.
func (r *RowChange) claimChange(source item.Key) *claimChange {
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
	actions, subjects = make([]Action, 0, m.size), make([]string, 0, m.size)
	add := func(subject string, a Action) {
		actions = append(actions, a)
		subjects = append(subjects, subject)
	}

	for _, g := range m.guards {
		add("the guard of an item", m.db.guardAction(m.target, g.source, g.expected, g.expectedVoid, g.next))
	}
	for i := range m.rows {
		r := &m.rows[i]
		add("the owner of a row", m.ownerAction(r))
		for n := range r.claims {
			add("a claim on a row", m.claimAction(r.Row, &r.claims[n]))
		}
	}
	return actions, subjects
}

// claimAction returns the action that replaces or deletes the claim of an item on a row.
func (m *MergedWrite) claimAction(row state.Row, c *claimChange) Action {
	ref := m.db.ClaimRef(m.target, row, c.source)
	if c.next.Source == "" {
		return Delete(ref, Condition{})
	}
	return Put(ref.Table, claimItem(ref.Key, &c.next), Condition{})
}

// ownerAction returns the action that replaces or deletes the owner record of a row, unless its revision has changed.
func (m *MergedWrite) ownerAction(r *RowChange) Action {
	ref := m.db.OwnerRef(m.target, r.Row)
	unchanged := notStored
	if r.expected != "" {
		unchanged = Condition{Text: "revision = :was", Values: Item{":was": S(r.expected)}}
	}
	if r.next == "" {
		return Delete(ref, unchanged)
	}
	record := withAttributes(ref.Key, Item{attrRevision: S(r.next), attrOwnerKey: S(string(r.Owner.Source))})
	return Put(ref.Table, record, unchanged)
}
