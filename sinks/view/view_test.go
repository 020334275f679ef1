package view_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

func parse(t testing.TB, src string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse(src, template.Options{Shard: true})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// attribute parses NAME=TEMPLATE.
func attribute(t testing.TB, s string) view.Attribute {
	t.Helper()
	name, src, _ := strings.Cut(s, "=")
	return view.Attribute{Name: name, Template: parse(t, src)}
}

// byStatus returns the options of a view with a row for each Order under its status.
func byStatus(t testing.TB, store view.Store) view.Options {
	t.Helper()
	return view.Options{
		Name: "orders_by_status", Pipeline: "shop", Table: "shop-views", Store: store,
		PK:         attribute(t, "PK=STATUS#{Status}"),
		SK:         attribute(t, "SK={@key}"),
		When:       pipeline.ItemConditionFunc(isOrder),
		Attributes: []view.Attribute{attribute(t, "total={Total}"), attribute(t, "note={Note?}"), attribute(t, "kind=order")},
	}
}

func isOrder(item item.Image) (bool, error) {
	v, _ := item.Get("Type")
	text, _ := v.Text()
	if text == "broken" {
		return false, errors.New("the condition fails")
	}
	return text == "Order", nil
}

func newSink(t testing.TB, o view.Options) *view.Sink {
	t.Helper()
	s, err := view.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// itemOf returns an item PK=u, SK=o with the given attributes: NAME=text, or NAME=#n for a number.
func itemOf(pairs ...string) sinktest.Item {
	it := sinktest.Item{"PK": {"S": "u"}, "SK": {"S": "o"}}
	for _, p := range pairs {
		name, text, _ := strings.Cut(p, "=")
		if n, ok := strings.CutPrefix(text, "#"); ok {
			it[name] = sinktest.Attr{"N": n}
		} else {
			it[name] = sinktest.Attr{"S": text}
		}
	}
	return it
}

func changes(t testing.TB, records ...sinktest.Record) []*record.Change {
	t.Helper()
	s, err := sinktest.Build(records...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Changes
}

// deliveries plans changes, and leaves out changes without effect.
func deliveries(t testing.TB, s *view.Sink, cs ...*record.Change) []pipeline.Delivery {
	t.Helper()
	var ds []pipeline.Delivery
	for _, c := range cs {
		d := pipeline.Delivery{Change: c}
		if err := s.Plan(&d); err != nil {
			t.Fatal(err)
		}
		if d.Outcome != pipeline.NoEffect {
			ds = append(ds, d)
		}
	}
	return ds
}

// memory is a store in memory, and the shortest implementation of the contract. If fail is set, it may fail a mutation
// before the mutation is applied.
type memory struct {
	mu    sync.Mutex
	rows  map[string]view.Mutation
	owner map[string]view.Target
	apart map[string]view.Mutation // tombstones, by target and row
	calls int
	fail  func(call int, m view.Mutation) error
}

func (s *memory) Apply(_ context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows, s.owner, s.apart = make(map[string]view.Mutation), make(map[string]view.Target), make(map[string]view.Mutation)
	}
	rs := make([]view.Result, len(ms))
	seen := make(map[string]bool)
	for i, m := range ms {
		k := rowText(m)
		if seen[k] {
			return nil, errors.New("two mutations of one call write the row " + k)
		}
		seen[k] = true
		if s.fail != nil {
			if rs[i].Err = s.fail(s.calls, m); rs[i].Err != nil {
				continue
			}
		}
		if owner, ok := s.owner[k]; ok && owner != t {
			row, err := state.MakeRow(m.PK, m.SK)
			if err != nil {
				return nil, err
			}
			rs[i].Err = &view.ForeignRowError{Target: t, Row: row, View: owner.View, Pipeline: owner.Pipeline}
			continue
		}
		aside := fmt.Sprint(t, k)
		old, ok := s.rows[k]
		if !ok && !t.InPlace {
			old, ok = s.apart[aside]
		}
		replaces := old.Version.Compare(m.Version) < 0 || old.Version == m.Version && old.Void && !m.Void
		if ok && t.RefuseOtherItem && old.Source != m.Source {
			if m.Tombstone && !old.Tombstone {
				rs[i].Superseded = true
				continue
			}
			if !m.Tombstone && (!old.Tombstone || !replaces) {
				rs[i].Err = &view.CollisionError{View: t.View, Owner: old.Source, Source: m.Source, NotIdentified: true}
				continue
			}
		}
		if ok && !replaces {
			rs[i].Superseded = old.Version != m.Version
			continue
		}
		if m.Tombstone && !t.InPlace {
			delete(s.rows, k)
			delete(s.owner, k)
			s.apart[aside] = m
			continue
		}
		m.Attributes = slices.Clone(m.Attributes) // the caller uses the slice for other rows after the call
		s.rows[k], s.owner[k] = m, t
	}
	s.calls++
	return rs, nil
}

func rowText(m view.Mutation) string {
	key := func(v item.Value) string {
		if d, ok := v.Number(); ok {
			return "N " + d.String()
		}
		return v.String()
	}
	return key(m.PK) + key(m.SK)
}

// show returns the rows and tombstones of the store by key.
func (s *memory) show() map[string]string {
	out := make(map[string]string)
	for k, m := range s.rows {
		text := m.Version.String() + " "
		if m.Tombstone {
			text += "tombstone"
		}
		for _, c := range m.Attributes {
			text += c.Name + "=" + c.Value.String() + " "
		}
		out[k] = text
	}
	return out
}
