package configtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// outcome is what came of a case, in the form in which a file of tests says it.
type outcome struct {
	cfg    *config.Config
	keys   map[string][]string // key attributes of the source's tables
	stores *stores
	raised map[string][]value // events by detector
	ledger pipeline.Ledger
	dead   []pipeline.DeadLetter
}

// mark is the attribute of rows and documents that is the pipeline's own.
const mark = "_tw"

// see notes what the detectors raised.
func (o *outcome) see(es []pipeline.Event) {
	for _, e := range es {
		v := object().with("detector", text(e.Detector))
		if e.Path != "" {
			v = v.with("path", text(e.Path))
		}
		v = v.with("op", text(e.Change.Op.String())).with("table", text(e.Change.Table)).with("keys", jsonOf(e.Change.Keys.Value()))
		o.raised[e.Detector] = append(o.raised[e.Detector], v.with("old", jsonOf(e.Old)).with("new", jsonOf(e.New)))
	}
}

// jsonOf is a value as plain JSON has it.
func jsonOf(v item.Value) value {
	if !v.Exists() {
		return value{}
	}
	out, _ := parseJSON(v.AppendJSON(nil)) // it is JSON
	return out
}

// part is what stands where an expectation looks, in the form of the expectation.
func (o *outcome) part(ctx context.Context, x expectation) (value, error) {
	switch x.section {
	case rows:
		return o.rows(ctx, x.name)
	case aggregates:
		return o.groups(ctx, x.name)
	case documents:
		return o.documents(ctx, x.name)
	case objects:
		got, err := o.objects(ctx, x)
		return named(got, x.want), err
	case events:
		return o.events(x.name)
	case drops:
		return o.drops(), nil
	default:
		return o.letters(x.want)
	}
}

// everything is all that stands somewhere, as expectations without a place.
func (o *outcome) everything(ctx context.Context) ([]expectation, error) {
	var xs []expectation
	for _, s := range sections {
		names := []string{""}
		if s.byName() {
			names = o.sinksOf(s)
		}
		for _, name := range names {
			x := expectation{section: s, name: name}
			got, err := o.part(ctx, x)
			if err != nil {
				return nil, err
			}
			if x.want = got; len(got.elems) > 0 {
				xs = append(xs, x)
			}
		}
	}
	return xs, nil
}

// sinksOf are the sinks that a section can name.
func (o *outcome) sinksOf(s section) []string {
	var names []string
	have := targets(o.cfg, s)
	for _, k := range o.cfg.Sinks {
		if slices.Contains(have, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// sink is the sink of that name, if there is one.
func (o *outcome) sink(name string) (config.Sink, bool) {
	i := slices.IndexFunc(o.cfg.Sinks, func(s config.Sink) bool { return s.Name == name })
	if i < 0 {
		return config.Sink{}, false
	}
	return o.cfg.Sinks[i], true
}

// rows are those of a view, or all of a table, without the pipeline's own mark.
func (o *outcome) rows(ctx context.Context, name string) (value, error) {
	sink, ok := o.sink(name)
	ok = ok && sink.View != nil
	out := list()
	table := o.tableOf(name)
	i := slices.IndexFunc(o.cfg.Sinks, func(s config.Sink) bool { return s.View != nil && s.View.Table.Name == table })
	store, err := o.stores.View(ctx, o.cfg, o.cfg.Sinks[i])
	if err != nil {
		return value{}, err
	}
	for row, err := range store.(view.Reader).Rows(ctx, view.Table{Name: table}, view.Query{}) {
		if err != nil {
			return value{}, err
		}
		if !ok || row.View == name {
			out.elems = append(out.elems, o.row(name, row))
		}
	}
	return out, nil
}

// groups are the rows of an aggregate, its shards added up.
func (o *outcome) groups(ctx context.Context, name string) (value, error) {
	sink, _ := o.sink(name)
	a := sink.Aggregate
	g := view.Groups{Table: view.Table{Name: a.Table.Name, PK: a.Group[0].Name}, Aggregate: name, Shards: a.Shards}
	if len(a.Group) > 1 {
		g.Table.SK = a.Group[1].Name
	}
	for _, v := range a.Values {
		g.Values = append(g.Values, view.Value{Name: v.Name, Of: v.Of})
	}
	store, err := o.stores.Aggregate(ctx, o.cfg, sink)
	if err != nil {
		return value{}, err
	}
	out := list()
	for row, err := range g.All(ctx, store.(view.Reader), view.Query{}) {
		if err != nil {
			return value{}, err
		}
		out.elems = append(out.elems, o.row(name, row))
	}
	return out, nil
}

// row is a row with its key at the beginning.
func (o *outcome) row(name string, r view.Row) value {
	item, out := imageOf(r.Item).without(mark), object()
	for _, k := range o.keyOf(o.tableOf(name)) {
		out = out.with(k, item.get(k))
		item = item.without(k)
	}
	for i, name := range item.names {
		out = out.with(name, item.elems[i])
	}
	return out
}

// keyOf are the names of a view table's key attributes.
func (o *outcome) keyOf(table string) []string {
	var names []string
	for _, s := range o.cfg.Sinks {
		var key []config.Column
		switch {
		case s.View != nil && s.View.Table.Name == table:
			key = s.View.Key
		case s.Aggregate != nil && s.Aggregate.Table.Name == table:
			key = s.Aggregate.Group
		default:
			continue
		}
		names = names[:0]
		for _, k := range key {
			names = append(names, k.Name)
		}
	}
	return names
}

// reader of documents, which the embedded store is.
type documentReader interface {
	Documents(ctx context.Context, index string) iter.Seq2[search.Document, error]
}

// documents are those of an index by their ids. Sinks of one index share them.
func (o *outcome) documents(ctx context.Context, name string) (value, error) {
	out := object()
	for _, s := range o.cfg.Sinks {
		if s.Search == nil || s.Name != name && s.Search.Index.String() != name {
			continue
		}
		store, ok := o.stores.indexes[s.Name].written().(documentReader)
		if !ok {
			continue // nothing was written
		}
		for d, err := range store.Documents(ctx, s.Search.Index.String()) {
			if err != nil {
				return value{}, err
			}
			doc, err := parseJSON(d.Doc)
			if err != nil {
				return value{}, fmt.Errorf("document %s: %w", d.ID, err)
			}
			if out.get(d.ID).kind == item.Absent {
				out = out.with(d.ID, doc.without(mark))
			}
		}
	}
	return out, nil
}

// events are those that a notify sink sent, or that a detector raised.
func (o *outcome) events(name string) (value, error) {
	all := o.raised[name]
	if s, ok := o.sink(name); ok && s.Notify != nil {
		all = nil
		for line, err := range jsonl.Read(o.stores.dir.Events(name)) {
			if err != nil {
				return value{}, err
			}
			sent, err := parseJSON(line)
			if err != nil {
				return value{}, err
			}
			all = append(all, sent.get("data"))
		}
	}
	out := list()
	for _, e := range all {
		if len(o.cfg.Source.Tables) < 2 {
			e = e.without("table")
		}
		out.elems = append(out.elems, e)
	}
	return out, nil
}

// drops are what filters dropped, at the source and then on the way to each sink.
func (o *outcome) drops() value {
	out := list()
	add := func(sink string, by map[string]int64) {
		for _, reason := range slices.Sorted(maps.Keys(by)) {
			if by[reason] == 0 {
				continue
			}
			v := object()
			if sink != "" {
				v = v.with("sink", text(sink))
			}
			out.elems = append(out.elems, v.with("reason", text(reason)).with("count", count(by[reason])))
		}
	}
	add("", o.ledger.Source.Filtered)
	for _, s := range o.cfg.Sinks {
		add(s.Name, o.ledger.Sinks[s.Name].Dropped)
	}
	return out
}

// letters are the dead letters. One that an expectation describes, with as much as
// it wants to say, is told in its words.
func (o *outcome) letters(want value) (value, error) {
	out := list()
	told := make([]bool, len(want.elems))
	for _, l := range o.dead {
		v := object()
		if l.Sink != "" {
			v = v.with("sink", text(l.Sink))
		}
		v = v.with("class", text(l.Class))
		if l.Key != "" {
			keys, err := o.keysOf(l)
			if err != nil {
				return value{}, err
			}
			v = v.with("keys", keys)
		}
		for i, w := range want.elems {
			if !told[i] && describes(w, v, l.Error) {
				told[i], v = true, w
				break
			}
		}
		out.elems = append(out.elems, v)
	}
	return out, nil
}

// errors says why each dead letter is one.
func (o *outcome) errors() []string {
	var lines []string
	for _, l := range o.dead {
		lines = append(lines, fmt.Sprintf("%s of %s: %s", cmp.Or(l.Sink, "every sink"), cmp.Or(string(l.Key), "a record"), l.Error))
	}
	return lines
}

// describes tells whether all that w says is true of a letter.
func describes(w, letter value, message string) bool {
	for i, name := range w.names {
		if name == "error" {
			if !strings.Contains(message, w.elems[i].text) {
				return false
			}
		} else if !w.elems[i].equal(letter.get(name)) {
			return false
		}
	}
	return w.get("sink").equal(letter.get("sink"))
}

// keysOf is the key of a letter as attributes: a canonical key has them in the order
// of their names.
func (o *outcome) keysOf(l pipeline.DeadLetter) (value, error) {
	table, vs, err := l.Key.Decode()
	if err != nil {
		return value{}, err
	}
	if table == "" && len(o.cfg.Source.Tables) == 1 {
		table = o.cfg.Source.Tables[0].Name
	}
	names := slices.Sorted(slices.Values(o.keys[table]))
	if len(names) != len(vs) {
		return text(string(l.Key)), nil // the table's keys are not these
	}
	out := object()
	for i, v := range vs {
		out = out.with(names[i], valueOf(v))
	}
	return out, nil
}

// identity returns the key of an element of a section. Elements of one key are compared attribute
// by attribute. It is nil if the section's elements have no key.
func (o *outcome) identity(x expectation) func(value) value {
	var names []string
	switch x.section {
	case drops:
		names = []string{"sink", "reason"}
	case letters:
		names = []string{"sink", "keys"}
	case rows, aggregates:
		names = o.keyOf(o.tableOf(x.name))
	default:
		return nil
	}
	return func(v value) value {
		id := object()
		for _, n := range names {
			id = id.with(n, v.get(n))
		}
		return id
	}
}

// tableOf is the table of a view or an aggregate, or the name itself.
func (o *outcome) tableOf(name string) string {
	switch s, _ := o.sink(name); {
	case s.View != nil:
		return s.View.Table.Name
	case s.Aggregate != nil:
		return s.Aggregate.Table.Name
	}
	return name
}
