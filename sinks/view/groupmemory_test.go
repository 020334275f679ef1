package view_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// groupMemory is a GroupStore in memory. It is the shortest implementation of the contract.
type groupMemory struct {
	mu            sync.Mutex
	contributions map[string]state.Contribution // contributions by aggregate and item
	rows          map[string]map[state.Row]*groupRow
	max           int

	reads, writes int
	before        func()                                   // runs before each Contribute, without the lock; may be nil
	fail          func(call int, w state.GroupWrite) error // may fail a write before it is applied
}

type groupRow struct {
	view    string
	shares  int64
	numbers map[string]state.Number
	members map[string]map[string]state.Member // members by name of the value, then by value and ID
	version record.Version
}

func newGroupMemory() *groupMemory {
	return &groupMemory{contributions: make(map[string]state.Contribution), rows: make(map[string]map[state.Row]*groupRow)}
}

var (
	_ view.GroupStore = (*groupMemory)(nil)
	_ view.Reader     = (*groupMemory)(nil)
)

func (s *groupMemory) Close() error    { return nil }
func (s *groupMemory) MaxActions() int { return s.max }

func (s *groupMemory) Contributions(_ context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	cs := make([]state.Contribution, len(items))
	for i, item := range items {
		cs[i] = s.contributions[t.View+" "+string(item)]
	}
	return cs, nil
}

func (s *groupMemory) Contribute(_ context.Context, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if err := s.check(ws); err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ws))
	for i, w := range ws {
		if s.fail != nil {
			if rs[i].Err = s.fail(s.writes-1, w); rs[i].Err != nil {
				continue
			}
		}
		rs[i].Lost = slices.ContainsFunc(w.Items, func(c state.ContributionWrite) bool {
			return !c.Expects(s.contributions[t.View+" "+string(c.Source)])
		})
		if rs[i].Lost {
			continue
		}
		for _, c := range w.Items {
			s.contributions[t.View+" "+string(c.Source)] = c.Next
		}
		for _, c := range w.Groups {
			if err := s.change(t, c); err != nil {
				return nil, err
			}
		}
	}
	return rs, nil
}

// check returns an error if a call breaks the contract of a GroupStore.
func (s *groupMemory) check(ws []state.GroupWrite) error {
	items := make(map[item.Key]bool)
	for _, w := range ws {
		rows := make(map[state.Row]bool)
		actions := len(w.Items) + len(w.Groups)
		for _, c := range w.Items {
			if items[c.Source] || c.Next.Version.Compare(c.Expected.Version) < 0 || c.Next.Version == c.Expected.Version && (!c.Expected.Void || c.Next.Void) {
				return fmt.Errorf("item %s is written twice, or from %s to %s", c.Source, c.Expected.Version, c.Next.Version)
			}
			items[c.Source] = true
		}
		for _, g := range w.Groups {
			if rows[g.Row] {
				return fmt.Errorf("row %s is changed twice", g.Row)
			}
			rows[g.Row] = true
			actions += len(g.Members)
		}
		if s.max > 0 && actions > s.max {
			return fmt.Errorf("%d actions, and %d are allowed", actions, s.max)
		}
	}
	return nil
}

func (s *groupMemory) change(t view.Target, c state.GroupChange) error {
	table := s.rows[t.Name]
	if table == nil {
		table = make(map[state.Row]*groupRow)
		s.rows[t.Name] = table
	}
	r := table[c.Row]
	if r == nil {
		r = &groupRow{view: t.View, numbers: make(map[string]state.Number), members: make(map[string]map[string]state.Member)}
		table[c.Row] = r
	}
	r.shares += c.Shares
	for _, a := range slices.Concat(c.Counts, c.Sums) {
		r.numbers[a.Name] = r.numbers[a.Name].Add(a.Amount)
	}
	for _, m := range c.Members {
		of := r.members[m.Name]
		if of == nil {
			of = make(map[string]state.Member)
			r.members[m.Name] = of
		}
		id := m.Value + "\x00" + m.ID
		if _, have := of[id]; have != m.Remove {
			return fmt.Errorf("row %s: member %s %q: it is there: %t, and it is removed: %t", c.Row, m.Name, id, have, m.Remove)
		}
		if m.Remove {
			delete(of, id)
		} else {
			of[id] = m
		}
	}
	if c.Version.Compare(r.version) > 0 {
		r.version = c.Version
	}
	if r.shares < 0 {
		return fmt.Errorf("row %s has %d shares", c.Row, r.shares)
	}
	if r.shares == 0 {
		for name, of := range r.members {
			if len(of) > 0 {
				return fmt.Errorf("row %s goes with %d members of %s", c.Row, len(of), name)
			}
		}
		delete(table, c.Row)
	}
	return nil
}

func (s *groupMemory) Rows(_ context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []view.Row
	for key, r := range s.rows[t.Name] {
		pk, sk, err := key.Decode()
		if m := (view.Mutation{PK: pk, SK: sk, Version: r.version}); err != nil || !selects(q, m) {
			continue
		}
		rows = append(rows, rowOf(t, r.view, view.Mutation{PK: pk, SK: sk, Version: r.version, Attributes: r.columns()}))
	}
	return answer(q, rows)
}

// columns returns the values of a row, by name.
func (r *groupRow) columns() []state.Column {
	var cs []state.Column
	for name, n := range r.numbers {
		cs = append(cs, state.Column{Name: name, Value: n.Value()})
	}
	for name, of := range r.members {
		values := make(map[string]bool)
		var kind state.MemberKind
		for _, m := range of {
			values[m.Value], kind = true, m.Kind
		}
		sorted := slices.Sorted(maps.Keys(values))
		if len(sorted) == 0 {
			continue
		}
		v, err := item.NumberValue(decimal.Of(int64(len(sorted)))), error(nil)
		switch kind {
		case state.Min:
			v, err = state.ParseSortable(sorted[0])
		case state.Max:
			v, err = state.ParseSortable(sorted[len(sorted)-1])
		}
		if err != nil {
			panic(errors.New("a member is no sortable value: " + err.Error()))
		}
		cs = append(cs, state.Column{Name: name, Value: v})
	}
	slices.SortFunc(cs, func(a, b state.Column) int { return strings.Compare(a.Name, b.Name) })
	return cs
}
