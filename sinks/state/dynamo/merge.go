package dynamo

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Merge makes one transaction of writes that build on each other: of every guard, seat and claim only what the
// last of them says, on condition of what the first read. Each is one action then, as DynamoDB demands. The caller
// adds an action for each of Rows.
type MergedWrite struct {
	db     *DB
	target state.Target
	guards []guardChange
	rows   []RowChange
	size   int // actions, with one for each row
}

// guardChange is the guard of an item from one version to another.
type guardChange struct {
	source item.Key
	was    record.Version
	void   bool // as it was
	now    state.Guard
}

// RowChange is a row whose claims change.
type RowChange struct {
	Row   state.Row
	Owner state.Claim // from now on; the zero Claim: the row is deleted

	was, now string // revisions
	claims   []claimChange
}

// claimChange is what an item claims from now on; the zero Claim: nothing.
type claimChange struct {
	source item.Key
	now    state.Claim
}

// Merge is a transaction without actions.
func (db *DB) NewMergedWrite(t state.Target) *MergedWrite { return &MergedWrite{db: db, target: t} }

// Add puts w behind what is there. False if it doesn't build on it, or if it would
// be too much for a transaction: then nothing is added.
func (m *MergedWrite) Add(w *state.ItemWrite) bool {
	g := find(m.guards, func(g *guardChange) bool { return g.source == w.Source })
	if g != nil && (g.now.Version != w.Was || g.now.Void != w.WasVoid) {
		return false
	}
	more := 0
	if g == nil {
		more++
	}
	for i := range w.Rows {
		r := m.row(w.Rows[i].Row)
		switch {
		case r == nil:
			more += 3 // seat, claim, row
		case r.now != w.Rows[i].Was:
			return false
		case r.claim(w.Source) == nil:
			more++
		}
	}
	if m.size+more > MaxActions {
		return false
	}
	m.size += more
	if g == nil {
		m.guards = append(m.guards, guardChange{source: w.Source, was: w.Was, void: w.WasVoid, now: w.Guard})
	} else {
		g.now = w.Guard
	}
	for i := range w.Rows {
		rw := &w.Rows[i]
		r := m.row(rw.Row)
		if r == nil {
			m.rows = append(m.rows, RowChange{Row: rw.Row, was: rw.Was})
			r = &m.rows[len(m.rows)-1]
		}
		r.now, r.Owner = rw.Revision, rw.Owner
		if c := r.claim(w.Source); c != nil {
			c.now = rw.Claim
		} else {
			r.claims = append(r.claims, claimChange{w.Source, rw.Claim})
		}
	}
	return true
}

func (m *MergedWrite) row(row state.Row) *RowChange {
	return find(m.rows, func(r *RowChange) bool { return r.Row == row })
}

func (r *RowChange) claim(source item.Key) *claimChange {
	return find(r.claims, func(c *claimChange) bool { return c.source == source })
}

// find is the first element that is so; nil if none is.
func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Rows are the rows whose claims change.
func (m *MergedWrite) Rows() []RowChange { return m.rows }

// Claimed reports whether the row had a claim when it was read.
func (r *RowChange) Claimed() bool { return r.was != "" }

// Actions are those of the transaction, and what each of them is on, as errors name it. If the condition of any of
// them is not met, a guard or the claims on a row have changed.
func (m *MergedWrite) Actions() (all []Action, on []string) {
	add := func(what string, a Action) { all, on = append(all, a), append(on, what) }
	all, on = slices.Grow(all, m.size), slices.Grow(on, m.size)
	for _, g := range m.guards {
		add("the guard of an item", m.db.setGuard(m.target, g.source, g.was, g.void, g.now))
	}
	for i := range m.rows {
		r := &m.rows[i]
		add("the seat of a row", m.setSeat(r))
		for c := range r.claims {
			ref := m.db.ClaimRef(m.target, r.Row, r.claims[c].source)
			if now := &r.claims[c].now; now.Source == "" {
				add("a claim on a row", Delete(ref, Condition{}))
			} else {
				add("a claim on a row", Put(ref.Table, claimItem(ref.Key, now), Condition{}))
			}
		}
	}
	return all, on
}

// setSeat puts a seat over the revision that was read, or takes it away.
func (m *MergedWrite) setSeat(r *RowChange) Action {
	ref := m.db.SeatRef(m.target, r.Row)
	as := Condition{Text: "attribute_not_exists(pk)"}
	if r.was != "" {
		as = Condition{Text: "revision = :was", Values: Item{":was": S(r.was)}}
	}
	if r.now == "" {
		return Delete(ref, as)
	}
	return Put(ref.Table, with(ref.Key, Item{attrRevision: S(r.now), attrHolder: S(string(r.Owner.Source))}), as)
}
