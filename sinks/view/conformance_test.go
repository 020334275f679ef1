package view_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/viewtest"
)

// TestConformance runs the suites on the shortest implementation of the contract, which is in memory. So a failure here
// is a fault of the planner, and not of a store.
func TestConformance(t *testing.T) {
	var folders sync.Map
	viewtest.Run(t, viewtest.Suite{Checks: 20, CountItems: plain, Open: func(_ context.Context, dir string) (viewtest.Store, error) {
		s, _ := folders.LoadOrStore(dir, newShelf())
		return s.(*shelf), nil
	}})
}

// plain counts all entries of a table.
func plain(_ context.Context, s viewtest.Store, t view.Table) (int, error) {
	shelf := s.(*shelf)
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	if shelf.tables[t.Name] == nil {
		return 0, nil
	}
	return len(shelf.tables[t.Name].rows), nil
}

// shelf is a store of several tables in memory. It keeps its rows after it is closed.
type shelf struct {
	mu      sync.Mutex
	tables  map[string]*memory
	desks   map[string]*desk
	foreign map[state.Row]*view.ForeignRowError // rows of other views
	refuse  func(w state.ItemWrite) error       // may fail a write permanently; nil: no write fails
	calls   int                                 // number of calls of ItemStore methods
}

func newShelf() *shelf {
	return &shelf{tables: make(map[string]*memory), desks: make(map[string]*desk)}
}

func (s *shelf) Close() error { return nil }

func (s *shelf) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[t.Name] == nil {
		s.tables[t.Name] = &memory{}
	}
	return s.tables[t.Name].Apply(ctx, t, ms)
}

func (s *shelf) Rows(_ context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []view.Row
	if m := s.tables[t.Name]; m != nil {
		for _, r := range m.rows {
			if !r.Tombstone && selects(q, r) {
				rows = append(rows, rowOf(t, m.owner[rowText(r)].View, r))
			}
		}
	}
	return answer(q, rows)
}

// answer yields the rows that a query selects, as a reader does.
func answer(q view.Query, rows []view.Row) iter.Seq2[view.Row, error] {
	slices.SortFunc(rows, func(a, b view.Row) int { return cmp.Or(compare(a.PK, b.PK), compare(a.SK, b.SK)) })
	if q.Reverse {
		slices.Reverse(rows)
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	return func(yield func(view.Row, error) bool) {
		if err := q.Check(); err != nil {
			yield(view.Row{}, err)
			return
		}
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func selects(q view.Query, m view.Mutation) bool {
	pk, _ := m.PK.Text()
	sk, _ := m.SK.Text()
	direction := 1
	if q.Reverse {
		direction = -1
	}
	if q.From.Exists() {
		if c := direction * compare(m.SK, q.From); c < 0 || c == 0 && q.After {
			return false
		}
	}
	if q.To.Exists() && direction*compare(m.SK, q.To) > 0 {
		return false
	}
	return (!q.PK.Exists() || q.PK.Equal(m.PK)) && strings.HasPrefix(pk, q.PKPrefix) && strings.HasPrefix(sk, q.SKPrefix)
}

func compare(a, b item.Value) int {
	if a.Kind() != b.Kind() {
		return int(a.Kind()) - int(b.Kind())
	}
	switch a.Kind() {
	case item.KindN:
		x, _ := a.Number()
		y, _ := b.Number()
		return x.Cmp(y)
	case item.KindB:
		x, _ := a.Bytes()
		y, _ := b.Bytes()
		return strings.Compare(string(x), string(y))
	default:
		x, _ := a.Text()
		y, _ := b.Text()
		return strings.Compare(x, y)
	}
}

func rowOf(t view.Table, owner string, m view.Mutation) view.Row {
	r := view.Row{PK: m.PK, SK: m.SK, Version: m.Version, Source: m.Source, View: owner}
	var b strings.Builder
	fmt.Fprintf(&b, "{%s:%s", item.StringValue(t.PK).AppendJSON(nil), m.PK)
	if t.SK != "" {
		fmt.Fprintf(&b, ",%s:%s", item.StringValue(t.SK).AppendJSON(nil), m.SK)
	}
	for _, c := range m.Attributes {
		fmt.Fprintf(&b, ",%s:%s", item.StringValue(c.Name).AppendJSON(nil), c.Value)
	}
	item, err := item.Parse([]byte(b.String() + "}"))
	if err != nil {
		panic(err) // the text is made of values, so it is valid
	}
	r.Item = item
	return r
}
