package model

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// Schemas lists the key attributes that a source table may have.
var Schemas = []map[string]string{{"PK": "S", "SK": "S"}, {"ID": "N"}, {"ID": "B"}}

// Configs generates configurations of one to five sinks for a table with these keys. They use the attributes of
// [Streams].
func Configs(keys map[string]string) *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		g := generator{T: t, keys: slices.Sorted(maps.Keys(keys)), texts: keys["PK"] == "S"}
		g.of = g.entities()
		c := Config{Name: "model", Entities: g.of, Filters: g.filters(true)}
		c.Detectors = []Detector{
			{Name: "paid", Attribute: "Status", To: "paid"},
			{Name: "came", Attribute: "Email", Appears: true},
			{Name: "went", Attribute: "Email"},
			{Name: "moved", Attribute: "Total", Changes: true},
			{Name: "placed", Op: "INSERT"},
		}
		for i := range c.Detectors {
			if of := g.scope(); g.one(4) && !of.mayFail() {
				c.Detectors[i].Of = of
			}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "sinks") {
			s := g.drawSink(fmt.Sprintf("s%d", i))
			if slices.ContainsFunc(slices.Concat(c.Filters, s.Filters), func(f Filter) bool { return f.TTLDeletes }) {
				s.withoutExpiries()
			}
			c.Sinks = append(c.Sinks, s)
		}
		return c
	})
}

// withoutExpiries changes a sink that drops the deletes of expired items, so that it works without them. Such a sink
// cannot remove an expired item.
func (s *Sink) withoutExpiries() {
	switch {
	case s.Aggregate != nil:
		s.Aggregate.Keep = true
	case s.Search != nil:
		s.Search.ForEach, s.Search.WhenEach = nil, nil
	}
}

type generator struct {
	*rapid.T
	keys  []string
	texts bool // the keys of the table are texts

	of     []Entity   // of the configuration
	bound  []*Binding // names that the sink can read
	unique []string   // names that are declared to identify the items of the sink
}

func (g generator) one(of int) bool { return rapid.IntRange(1, of).Draw(g.T, "one") == 1 }

func pick[T any](g generator, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

// filters draws filters. Filters before state sinks read only keys.
func (g generator) filters(state bool) []Filter {
	var fs []Filter
	if g.one(8) {
		fs = append(fs, Filter{TTLDeletes: true})
	}
	if g.texts && g.one(8) {
		fs = append(fs, Filter{Attribute: "PK", Prefix: pick(g, "prefix", "u", "o", "%")})
	}
	if of := g.scope(); of != nil && g.one(4) && (!state || of.keysOnly()) {
		fs = append(fs, Filter{Of: of})
	}
	return fs
}

func (g generator) drawSink(name string) Sink {
	s := Sink{Name: name, Of: g.scope()}
	g = g.about(s.Of)
	if g.one(3) {
		s.Concurrency = pick(g, "concurrency", 1, 2, 7)
	}
	if g.one(3) {
		s.Batch = pick(g, "batch", 1, 2, 5)
	}
	// Sinks whose row keys begin with the name of the sink may share a table.
	table := pick(g, "table", name+"-rows", "shared")
	switch pick(g, "kind", "view", "view", "aggregate", "aggregate", "aggregate", "search", "archive", "notify") {
	case "view":
		s.View = g.view(name, table)
	case "aggregate":
		s.Aggregate = g.aggregate(name, table)
	case "search":
		s.Search = g.search(name)
	case "archive":
		s.Archive = g.archive(name)
	default:
		s.Notify = &Notify{Events: []string{"paid", "moved", "placed", "came", "went"}[:rapid.IntRange(1, 5).Draw(g.T, "events")]}
	}
	s.Filters = g.filters(s.keepsState())
	if s.Notify != nil { // a change that fails puts later events of its item in dead letters
		s.Filters = slices.DeleteFunc(s.Filters, func(f Filter) bool { return f.Of.mayFail() })
		if s.Of.mayFail() {
			s.Of = nil
		}
	}
	return s
}

func (g generator) search(name string) *Search {
	k := &Search{Index: name, When: g.when()}
	if g.one(2) {
		k.ForEach, k.WhenEach = g.elements()
	}
	return k
}

func literal(text string) Part { return Part{Literal: text} }

func path(names ...string) Part { return Part{Path: names} }

func (p Part) with(name, arg string) Part {
	p.Funcs = append(slices.Clone(p.Funcs), Func{name, arg})
	return p
}

// claimed draws a row key that several items may claim.
func (g generator) claimed(name, table string) (pk, sk Template) {
	parts := []Part{
		path("Email").with("lower", ""), path("Status"), path("Rank"), path("Addr", "City"), path("Blob"),
		path("Day").with("date", "2006-01"), path("Tag").with("after", "#"), path("Tag").with("before", "#"),
		path("Status").with("default", "none"), path("Flag"), path("Total"),
	}
	for _, b := range g.bound {
		parts = append(parts, Part{Bound: b}, Part{Bound: b}.with("upper", ""))
	}
	pk = Template{pick(g, "pk", parts...)}
	if table == "shared" || g.one(2) {
		pk = append(Template{literal(name + "!")}, pk...)
		last := &pk[len(pk)-1]
		last.Optional = len(last.Funcs) == 0 && g.one(6)
	}
	switch rapid.IntRange(0, 3).Draw(g.T, "sk") {
	case 0:
		sk = Template{pick(g, "sk", parts...)}
	case 1:
		sk = Template{literal("a-"), pick(g, "sk", parts...)}
	default:
		sk = Template{literal("ROW")}
	}
	return pk, sk
}

func (g generator) view(name, table string) *View {
	v := &View{Table: table, When: g.when(), Attributes: g.columns()}
	v.PK, v.SK = g.claimed(name, table)
	if g.unique != nil && rapid.IntRange(0, 3).Draw(g.T, "unique rows") > 0 {
		g.uniqueRows(name, v)
		return v
	}
	if g.one(3) {
		g.elementRows(name, v)
		return v
	}
	switch rapid.IntRange(0, 3).Draw(g.T, "guard") {
	case 0: // the key of the item is in the sort key
		v.SK = Template{path("Day").with("date", "2006-01-02"), literal("#"), {Key: true}}
		if g.one(2) {
			v.SK = v.SK[2:]
		}
		v.InPlace = g.one(2)
		if g.one(2) {
			v.Shards = pick(g, "shards", 1, 2, 10)
			v.PK = append(v.PK, literal("#"), Part{Shards: v.Shards})
		} else if g.one(4) {
			v.Shards = pick(g, "shards", 2, 256)
			v.PK = append(Template{literal(name + "!"), {Shards: v.Shards}, literal("#")}, v.PK...)
		}
	case 1: // every key attribute, escaped
		v.SK = nil
		for i, key := range g.keys {
			if i > 0 {
				v.SK = append(v.SK, literal("#"))
			}
			v.SK = append(v.SK, path(key).with("esc", ""))
		}
		v.InPlace = g.one(2)
	}
	if !v.GuardsItself() {
		if g.one(5) {
			v.PK = append(v.PK, literal("#"), path("Rank")) // parts with an ambiguous boundary
		}
		v.Collision = pick(g, "collision", "", "dead_letter", "keep_first", "last")
		if g.unique != nil && slices.ContainsFunc(slices.Concat(v.PK, v.SK), func(p Part) bool { return p.Bound != nil }) {
			v.Collision = pick(g, "rule", "keep_first", "last") // otherwise its rows may guard themselves
		}
	}
	return v
}

// elements draws which elements of an item have an entry each, and their condition, which may be nil.
func (g generator) elements() (of *ForEach, when *Condition) {
	of = &ForEach{Path: pick(g, "elements", "Lines", "Lines", "Addr"), Max: pick(g, "max", 0, 0, 2)}
	if of.Path == "Addr" {
		return of, nil
	}
	if g.one(2) {
		of.By = "sku"
	}
	if g.one(2) {
		when = &Condition{Op: ">", Path: []string{"qty"}, Number: pick(g, "than", "0", "1.5")}
	}
	return of, when
}

// elementRows makes a view with a row for each element.
func (g generator) elementRows(name string, v *View) {
	v.ForEach, v.WhenEach = g.elements()
	v.SK = Template{{Key: true}, literal("#"), {Identity: true}}
	if v.ForEach.Path == "Addr" {
		return
	}
	if g.one(2) {
		v.PK = Template{literal(name + "!"), {Path: []string{"sku"}, Each: true}}
	}
	if g.one(2) {
		v.Attributes = append(v.Attributes, Column{"qty", Template{{Path: []string{"qty"}, Each: true}}})
	}
}

// columns draws columns that always name the item, so that a row shows its owner.
func (g generator) columns() []Column {
	cs := []Column{{"who", Template{{Key: true}}}}
	for _, c := range []Column{
		{"total", Template{path("Total")}},
		{"any", Template{path("Lines")}},
		{"status", Template{literal("is "), path("Status")}},
		{"mail", Template{literal("to "), {Path: []string{"Email"}, Optional: true}}},
		{"maybe", Template{{Path: []string{"Flag"}, Optional: true}}},
		{"fixed", Template{literal("{x}")}},
		{"up", Template{path("Tag").with("upper", "")}},
	} {
		if g.one(3) {
			cs = append(cs, c)
		}
	}
	for _, b := range g.bound {
		if g.one(2) {
			cs = append(cs, Column{"of" + b.Name, Template{{Bound: b}}})
		}
	}
	return cs
}

func (g generator) aggregate(name, table string) *Aggregate {
	a := &Aggregate{Table: table, When: g.when(), Keep: g.one(2), Shards: pick(g, "shards", 0, 1, 2, 3)}
	a.PK, a.SK = g.claimed(name, table)
	paths := [][]string{{"Total"}, {"Qty"}, {"Status"}, {"Email"}, {"Tag"}, {"Rank"}, {"Blob"}, {"Addr", "City"}}
	if g.one(2) {
		a.ForEach = []string{"Lines"}
		if g.one(2) {
			a.PK = Template{literal(name + "!"), {Path: []string{"sku"}, Each: true}}
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(g.T, "values") {
		v := Value{Name: fmt.Sprintf("v%d", i), Of: pick(g, "of", "count", "sum", "min", "max", "distinct")}
		switch {
		case v.Of == "count":
		case a.ForEach != nil && g.one(2):
			v.Each, v.Path = true, []string{pick(g, "each", "qty", "sku")}
			if v.Of == "sum" {
				v.Path = []string{"qty"}
			}
		case v.Of == "sum":
			v.Path = pick(g, "sum", paths[0], paths[1])
		default:
			v.Path = pick(g, "path", paths...)
		}
		a.Values = append(a.Values, v)
	}
	return a
}

func (g generator) archive(name string) *Archive {
	g.bound = nil // a change has the names even without an image
	a := &Archive{Bucket: "bucket-" + name, Image: pick(g, "image", "old", "new")}
	if g.one(2) {
		a.When = g.when()
	}
	if g.one(2) {
		a.Kinds = pick(g, "kinds", []string{"user_delete"}, []string{"ttl_delete"}, []string{"change"}, []string{"user_delete", "ttl_delete"})
	}
	if g.one(2) {
		a.PerItem = Template{literal("x/")}
		for _, key := range g.keys {
			a.PerItem = append(a.PerItem, path(key), literal("/"))
		}
		if g.one(2) {
			a.PerItem = append(a.PerItem, Part{Version: true})
		} else {
			a.PerItem[len(a.PerItem)-1] = literal(".json") // only the newest change of each item is kept
		}
	}
	return a
}

// when draws a condition, or nil.
func (g generator) when() *Condition {
	if g.one(3) {
		return nil
	}
	c := g.condition(2)
	return &c
}

func (g generator) condition(depth int) Condition {
	if depth > 0 && g.one(3) {
		op := pick(g, "op", "and", "or", "not")
		inner := []Condition{g.condition(depth - 1)}
		if op != "not" {
			inner = append(inner, g.condition(depth-1))
		}
		return Condition{Op: op, Inner: inner}
	}
	if g.bound != nil && g.one(4) {
		return g.boundCondition()
	}
	switch rapid.IntRange(0, 5).Draw(g.T, "comparison") {
	case 0:
		return Condition{Op: pick(g, "op", "<", ">"), Path: []string{pick(g, "path", "Total", "Qty", "Rank")}, Number: pick(g, "than", "0", "1.5", "-2.50")}
	case 1:
		return Condition{Op: "in", Path: []string{"Status"}, Texts: []string{"paid", "1"}}
	case 2:
		return Condition{Op: pick(g, "op", "==", "!="), Path: []string{pick(g, "path", "Email", "Total", "Lines")}, Null: true}
	case 3:
		return Condition{Op: pick(g, "op", "==", "!="), Path: []string{pick(g, "path", "Qty", "Rank", "Status")}, Number: pick(g, "number", "1", "0.10")}
	default:
		return Condition{Op: pick(g, "op", "==", "=="), Path: []string{"Type"}, Texts: []string{"Order"}}
	}
}
