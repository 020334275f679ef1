package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/state"
	statesqlite "github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// Stores holds the stores of many worlds. Each world has its own keys, indexes and births.
type Stores struct {
	rows      RowStore
	documents DocumentStore
	files     []io.Closer
	kinds     []kind // of sinks
	seconds   bool   // documents are in order only if each change of an item has its own second
	byHand    byHand // changes the files; nil if rows or documents are elsewhere
}

// DocumentStore is a store of documents of every index.
type DocumentStore interface {
	search.Store
	Documents(ctx context.Context, index string) iter.Seq2[search.Document, error]
}

// RowStore is a store of rows of every kind, in a table with the keys PK and SK.
type RowStore interface {
	view.Store
	view.ItemStore
	view.GroupStore
	view.Reader
	view.ClaimLister
	state.Purger
}

// WithRows returns a copy of the stores with another store of rows. That store must have the table "rows".
func (s *Stores) WithRows(rows RowStore) *Stores {
	changed := *s
	changed.rows, changed.byHand = rows, nil
	return &changed
}

// WithDocuments returns a copy of the stores with another store of documents. Worlds then have only sinks with
// documents. If seconds is true, the store keeps changes in order only if each change of an item has its own second.
func (s *Stores) WithDocuments(documents DocumentStore, seconds bool) *Stores {
	changed := *s
	changed.documents, changed.seconds, changed.byHand = documents, seconds, nil
	changed.kinds = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !k.documents })
	return &changed
}

// Open opens the stores in files of a folder: rows in views.db, documents in search.db.
func Open(ctx context.Context, dir string) (*Stores, error) {
	rows, err := sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	documents, err := searchsqlite.Open(ctx, filepath.Join(dir, "search.db"), search.Owner{Pipeline: pipelineName, Sink: "documents"}, statesqlite.Options{})
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	hand, err := openByHand(dir)
	if err == nil {
		err = rows.Create(ctx, view.Table{Name: tableName, PK: "PK", SK: "SK"})
	}
	if err != nil {
		return nil, errors.Join(err, rows.Close(), documents.Close())
	}
	return &Stores{rows: rows, documents: documents, files: []io.Closer{rows, documents, hand}, kinds: kinds, byHand: hand}, nil
}

// Close closes the files.
func (s *Stores) Close() error {
	var failed []error
	for _, f := range s.files {
		failed = append(failed, f.Close())
	}
	return errors.Join(failed...)
}

const (
	pipelineName = "shop"
	tableName    = "rows"
)

// sink is a sink under test.
type sink struct {
	kind     string
	name     string
	live     planWriter // writes the changes of the stream
	backfill planWriter // writes the items of the backfill

	// got reads the contents of the sink, and want computes the required contents from the items. Both return a text
	// for each key.
	got   func(ctx context.Context) (map[string]string, error)
	want  func(w *World) map[string]string
	keeps bool // the sink counts expired items
	any   bool // a text of want may list several right texts, separated by the constant or
}

const or = " or "

type planWriter interface {
	pipeline.Sink
	pipeline.Planner
	pipeline.Requirer
}

// kind is a kind of sinks.
type kind struct {
	name      string
	old       bool // the kind needs old images
	keep      bool // the kind counts expired items
	documents bool // the kind has documents, and no rows
	make      func(w *World) (sink, error)
}

// kinds lists all kinds of sinks.
var kinds = []kind{
	{name: "rows apart", old: true, make: func(w *World) (sink, error) { return w.ownRows("apart", "{Status}", false) }},
	{name: "rows in place", old: true, make: func(w *World) (sink, error) { return w.ownRows("place", "{Status}", true) }},
	{name: "rows that never move", make: func(w *World) (sink, error) { return w.ownRows("fixed", "", false) }},
	{name: "claims, dead_letter", make: func(w *World) (sink, error) { return w.claims(view.DeadLetterCollision) }},
	{name: "claims, keep_first", make: func(w *World) (sink, error) { return w.claims(view.KeepFirst) }},
	{name: "claims, last", make: func(w *World) (sink, error) { return w.claims(view.KeepLast) }},
	{name: "rows of elements", make: func(w *World) (sink, error) { return w.elementRows() }},
	{name: "aggregate", make: func(w *World) (sink, error) { return w.totals("sum", false) }},
	{name: "aggregate that keeps", old: true, keep: true, make: func(w *World) (sink, error) { return w.totals("keep", true) }},
	{name: "aggregate of elements", make: func(w *World) (sink, error) { return w.elements() }},
	{name: "documents", documents: true, make: func(w *World) (sink, error) { return w.documents("") }},
	{name: "documents that move", old: true, documents: true, make: func(w *World) (sink, error) { return w.documents("-{Status}") }},
	{name: "documents of elements", old: true, documents: true, make: func(w *World) (sink, error) { return w.elementDocuments() }},
}

// isOrder is the condition of every sink.
var isOrder = pipeline.ItemConditionFunc(func(it item.Image) (bool, error) {
	v, _ := it.Get("Type")
	text, _ := v.Text()
	return text == "Order", nil
})

func (m *image) isOrder() bool { return m != nil && m.Type == "Order" }

// prefix returns the prefix of the partition keys of a sink in this world.
func (w *World) prefix(name string) string { return fmt.Sprintf("%s-%s#", w.id, name) }

func attribute(name, src string) (view.Attribute, error) {
	t, err := template.Parse(src, template.Options{Each: true, Identity: true})
	return view.Attribute{Name: name, Template: t}, err
}

// ownRows returns a view whose rows guard themselves.
func (w *World) ownRows(name, status string, inPlace bool) (sink, error) {
	return w.view(view.Options{Name: name, InPlace: inPlace}, w.prefix(name)+status, "{@key}", func(w *World) map[string]string {
		want := make(map[string]string)
		for i, m := range w.table.now {
			if !m.isOrder() || status != "" && m.Status == "" {
				continue
			}
			pk := w.prefix(name)
			if status != "" {
				pk += m.Status
			}
			want[pk+" "+keyOf(i)+",o"] = m.row(i)
		}
		return want
	})
}

// row returns the attributes of an item's row.
func (m *image) row(item int) string { return fmt.Sprintf("%d %s %s", m.Total, m.Status, keyOf(item)) }

// claims returns a view whose rows are guarded by item.
func (w *World) claims(rule view.Collision) (sink, error) {
	name := "claims-" + string(rule)
	want := func(w *World) map[string]string { return w.claimedRows(name, rule) }
	s, err := w.view(view.Options{Name: name, Collision: rule}, w.prefix(name)+"{Email}", "ROW", want)
	if err != nil {
		return sink{}, err
	}
	rows := s.got
	s.got = func(ctx context.Context) (map[string]string, error) {
		got, err := rows(ctx)
		if err != nil {
			return nil, err
		}
		target := s.live.(*view.Sink).Target()
		for r, err := range w.stores.rows.ContestedRows(ctx, target.State()) {
			if err != nil {
				return nil, err
			}
			pk, sk, err := r.Row.Decode()
			if err != nil {
				return nil, err
			}
			first, _ := pk.Text()
			second, _ := sk.Text()
			items := append([]item.Key{r.Owner}, r.Waiting...)
			slices.Sort(items)
			got["claims on "+first+" "+second] = fmt.Sprint(items)
		}
		return got, nil
	}
	s.any = rule == view.KeepLast
	return s, nil
}

// claimedRows returns the required rows of a view of claims, and the claims on each row that several items claim.
func (w *World) claimedRows(name string, rule view.Collision) map[string]string {
	want, claimants := make(map[string]string), make(map[string][]string)
	for i, m := range w.table.now { // in the order of keys
		if !m.isOrder() || m.Email == "" {
			continue
		}
		key := w.prefix(name) + m.Email + " ROW"
		claimants[key] = append(claimants[key], keyOf(i)+",o")
		switch {
		case want[key] == "":
			want[key] = m.row(i)
		case rule == view.KeepLast: // backfilled claims are of 1970, so the stream decides who is the owner
			want[key] += or + m.row(i)
		}
	}
	for key, items := range claimants {
		if len(items) > 1 {
			want["claims on "+key] = fmt.Sprint(items)
		}
	}
	return want
}

// elementRows returns a view with a row for each element of a list.
func (w *World) elementRows() (sink, error) {
	path, err := item.ParsePath("Lines")
	if err != nil {
		return sink{}, err
	}
	name := "rows-of-elements"
	return w.view(view.Options{Name: name, ForEach: &elements.Spec{Path: path}}, w.prefix(name), "{@key}#{@each}", func(w *World) map[string]string {
		want := make(map[string]string)
		for i, m := range w.table.now {
			if !m.isOrder() {
				continue
			}
			for at := range m.Lines {
				want[fmt.Sprintf("%s %s,o#%d", w.prefix(name), keyOf(i), at)] = m.row(i)
			}
		}
		return want
	})
}

func (w *World) view(o view.Options, pk, sk string, want func(*World) map[string]string) (sink, error) {
	o.Pipeline, o.Birth, o.Table, o.When, o.Store = pipelineName, w.id, tableName, isOrder, w.stores.rows
	var errs [4]error
	o.PK, errs[0] = attribute("PK", pk)
	o.SK, errs[1] = attribute("SK", sk)
	o.Attributes = make([]view.Attribute, 2)
	o.Attributes[0], errs[2] = attribute("total", "{Total}")
	o.Attributes[1], errs[3] = attribute("who", "{Status?} {PK}")
	if err := errors.Join(errs[:]...); err != nil {
		return sink{}, err
	}
	live, err := view.New(o)
	if err != nil {
		return sink{}, err
	}
	o.Backfill = true
	backfill, err := view.New(o)
	return sink{name: o.Name, live: live, backfill: backfill, want: want, got: func(ctx context.Context) (map[string]string, error) {
		return w.rows(ctx, o.Name, func(r view.Row) string {
			return strings.TrimSpace(text(r.Item, "total") + " " + text(r.Item, "who"))
		})
	}}, err
}

// text returns an attribute as plain text; "" if it is missing.
func text(it item.Image, name string) string {
	v, ok := it.Get(name)
	if !ok {
		return ""
	}
	if s, ok := v.Text(); ok {
		return s
	}
	return string(v.AppendJSON(nil))
}

// rows reads the rows of a sink.
func (w *World) rows(ctx context.Context, name string, show func(view.Row) string) (map[string]string, error) {
	got := make(map[string]string)
	for r, err := range w.stores.rows.Rows(ctx, view.Table{Name: tableName, PK: "PK", SK: "SK"}, view.Query{PKPrefix: w.prefix(name)}) {
		if errors.Is(err, view.ErrNoTable) {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
		pk, _ := r.PK.Text()
		sk, _ := r.SK.Text()
		got[pk+" "+sk] = show(r)
	}
	return got, nil
}

// share is the contribution of an item or an element.
type share struct {
	group    string
	n        int
	distinct string
}

// totals returns an aggregate of items by status.
func (w *World) totals(name string, keep bool) (sink, error) {
	shares := func(_ int, m *image) []share {
		if !m.isOrder() || m.Status == "" {
			return nil
		}
		return []share{{m.Status, m.Total, m.Email}}
	}
	return w.aggregate(view.AggregateOptions{Name: name, KeepOnTTL: keep, Values: []view.Value{
		{Name: "n", Kind: "count"}, {Name: "sum", Kind: "sum", Path: "Total"}, {Name: "lo", Kind: "min", Path: "Total"},
		{Name: "hi", Kind: "max", Path: "Total"}, {Name: "distinct", Kind: "distinct", Path: "Email"},
	}}, "{Status}", shares)
}

// elements returns an aggregate of the elements of a list. Each group has two rows.
func (w *World) elements() (sink, error) {
	shares := func(item int, m *image) []share {
		if !m.isOrder() {
			return nil
		}
		var all []share
		for _, l := range m.Lines {
			all = append(all, share{l.SKU, l.Qty, keyOf(item)})
		}
		return all
	}
	return w.aggregate(view.AggregateOptions{Name: "elements", ForEach: "Lines", Shards: 2, Values: []view.Value{
		{Name: "n", Kind: "count"}, {Name: "sum", Kind: "sum", Path: "qty", Each: true}, {Name: "lo", Kind: "min", Path: "qty", Each: true},
		{Name: "hi", Kind: "max", Path: "qty", Each: true}, {Name: "distinct", Kind: "distinct", Path: "PK"},
	}}, "{each.sku}", shares)
}

func (w *World) aggregate(o view.AggregateOptions, group string, shares func(int, *image) []share) (sink, error) {
	o.Pipeline, o.Birth, o.Table, o.When, o.Store = pipelineName, w.id, tableName, isOrder, w.stores.rows
	var errs [2]error
	o.PK, errs[0] = attribute("PK", w.prefix(o.Name)+group)
	o.SK, errs[1] = attribute("SK", "ALL")
	if err := errors.Join(errs[:]...); err != nil {
		return sink{}, err
	}
	a, err := view.NewAggregate(o)
	if err != nil {
		return sink{}, err
	}
	got := func(ctx context.Context) (map[string]string, error) {
		groups := make(map[string]string)
		for r, err := range a.Groups().All(ctx, w.stores.rows, view.Query{PKPrefix: w.prefix(o.Name)}) {
			if errors.Is(err, view.ErrNoTable) {
				break
			}
			if err != nil {
				return nil, err
			}
			pk, _ := r.PK.Text()
			groups[pk] = fmt.Sprintf("n=%s sum=%s lo=%s hi=%s distinct=%s", text(r.Item, "n"), text(r.Item, "sum"), text(r.Item, "lo"), text(r.Item, "hi"), text(r.Item, "distinct"))
		}
		return groups, nil
	}
	want := func(w *World) map[string]string {
		groups := make(map[string]string)
		for group, all := range w.sharesOf(shares, o.KeepOnTTL) {
			groups[w.prefix(o.Name)+group] = sum(all)
		}
		return groups
	}
	return sink{name: o.Name, live: a, backfill: a, got: got, want: want}, nil
}

// sharesOf returns the shares of all items by group. If keep is set, they include those of the expired items.
func (w *World) sharesOf(shares func(int, *image) []share, keep bool) map[string][]share {
	all := make(map[string][]share)
	add := func(item int, m *image) {
		for _, s := range shares(item, m) {
			all[s.group] = append(all[s.group], s)
		}
	}
	for i, m := range w.table.now {
		add(i, m)
	}
	for i := range w.table.writes {
		e := &w.table.writes[i]
		if keep && e.ttl && e.stamp >= w.floor {
			add(e.item, e.old)
		}
	}
	return all
}

// sum returns the required row of a group as text.
func sum(shares []share) string {
	total, lo, hi, distinct := 0, shares[0].n, shares[0].n, make(map[string]bool)
	for _, s := range shares {
		total, lo, hi = total+s.n, min(lo, s.n), max(hi, s.n)
		if s.distinct != "" {
			distinct[s.distinct] = true
		}
	}
	count := ""
	if len(distinct) > 0 {
		count = fmt.Sprint(len(distinct))
	}
	return fmt.Sprintf("n=%d sum=%d lo=%d hi=%d distinct=%s", len(shares), total, lo, hi, count)
}

// differences describes how a sink differs from the table; "" if it does not.
func (w *World) differences(ctx context.Context, s *sink) string {
	got, err := s.got(ctx)
	if err != nil {
		w.failf("%s: %v", s.name, err)
	}
	want := s.want(w)
	if maps.EqualFunc(got, want, s.same) {
		return ""
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if is, ok := want[key]; !ok || !s.same(got[key], is) {
			fmt.Fprintf(&b, "%s: %s has %q, want %q\n", s.name, key, got[key], is)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[key]; !ok {
			fmt.Fprintf(&b, "%s: %s is missing, want %q\n", s.name, key, want[key])
		}
	}
	return b.String()
}

func (s *sink) same(got, want string) bool {
	return got == want || s.any && slices.Contains(strings.Split(want, or), got)
}
