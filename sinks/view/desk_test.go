package view_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// desk has the guards and claims of one view in memory. It is the shortest implementation of an ItemStore.
type desk struct {
	guards map[item.Key]state.Guard
	rcs    map[state.Row]rc
}

type rc struct {
	revision string
	holder   item.Key
	claims   map[item.Key]state.Claim
}

var _ view.ItemStore = (*shelf)(nil)

// desk returns the desk of a view, and creates it if it does not exist. The caller holds the lock.
func (s *shelf) desk(t state.Target) *desk {
	name := t.Table + " " + t.View + " " + t.Pipeline
	d := s.desks[name]
	if d == nil {
		d = &desk{guards: make(map[item.Key]state.Guard), rcs: make(map[state.Row]rc)}
		s.desks[name] = d
	}
	return d
}

func (s *shelf) Guards(_ context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	guards := make([]state.Guard, len(items))
	for i, item := range items {
		guards[i] = s.desk(t).guards[item]
	}
	return guards, nil
}

func (s *shelf) RowClaims(_ context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	rcs := make([]view.RowClaims, len(rows))
	for i, row := range rows {
		have := s.desk(t.State()).rcs[row]
		rcs[i] = view.RowClaims{RowClaims: state.RowClaims{Row: row, Revision: have.revision, Owner: have.claims[have.holder]}, Foreign: s.foreign[row]}
		for source, c := range have.claims {
			if source != have.holder {
				rcs[i].Waiting = append(rcs[i].Waiting, c)
			}
		}
	}
	return rcs, nil
}

func (s *shelf) ContestedRows(_ context.Context, t state.Target) iter.Seq2[state.ContestedRow, error] {
	return func(yield func(state.ContestedRow, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for row, have := range s.desk(t).rcs {
			r := state.ContestedRow{Row: row, Owner: have.holder}
			for _, source := range slices.Sorted(maps.Keys(have.claims)) {
				if source != have.holder {
					r.Waiting = append(r.Waiting, source)
				}
			}
			if len(r.Waiting) > 0 && !yield(r, nil) {
				return
			}
		}
	}
}

func (s *shelf) WriteItems(_ context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	rs := make([]view.Result, len(ws))
	for i, w := range ws {
		if s.refuse != nil {
			if rs[i].Err = s.refuse(w); rs[i].Err != nil {
				continue
			}
		}
		if rs[i].Lost = s.lost(t, w); rs[i].Lost {
			continue
		}
		d := s.desk(t.State())
		d.guards[w.Source] = w.Guard
		for _, sw := range w.Rows {
			d.change(w.Source, sw)
			s.show(t, d, sw.Row)
		}
	}
	return rs, nil
}

func (s *shelf) lost(t view.Target, w state.ItemWrite) bool {
	d := s.desk(t.State())
	g := d.guards[w.Source]
	return g.Version != w.Expected || g.Void != w.ExpectedVoid || slices.ContainsFunc(w.Rows, func(sw state.RowClaimsWrite) bool { return d.rcs[sw.Row].revision != sw.Expected })
}

func (d *desk) change(source item.Key, w state.RowClaimsWrite) {
	have := d.rcs[w.Row]
	if have.claims == nil {
		have.claims = make(map[item.Key]state.Claim)
	}
	delete(have.claims, source)
	if w.Claim.Source != "" {
		have.claims[source] = w.Claim
	}
	have.revision, have.holder = w.Revision, w.Owner.Source
	_, holds := have.claims[have.holder]
	if holds != (len(have.claims) > 0) || (w.Revision == "") != (len(have.claims) == 0) {
		panic(fmt.Sprintf("the row %s has %d claims, the holder %q and the revision %q", w.Row, len(have.claims), have.holder, have.revision))
	}
	d.rcs[w.Row] = have
	if len(have.claims) == 0 {
		delete(d.rcs, w.Row)
	}
}

// show writes the row of the owner's claim, or deletes the row if no item owns it.
func (s *shelf) show(t view.Target, d *desk, row state.Row) {
	pk, sk, err := row.Decode()
	if err != nil {
		panic(err) // the sink made the row
	}
	if s.tables[t.Name] == nil {
		s.tables[t.Name] = &memory{rows: make(map[string]view.Mutation), owner: make(map[string]view.Target)}
	}
	m := view.Mutation{PK: pk, SK: sk}
	have, held := d.rcs[row]
	if !held {
		delete(s.tables[t.Name].rows, rowText(m))
		return
	}
	c := have.claims[have.holder]
	m.Version, m.Source, m.Attributes = c.Version, c.Source, c.Attributes
	s.tables[t.Name].rows[rowText(m)], s.tables[t.Name].owner[rowText(m)] = m, t
}
