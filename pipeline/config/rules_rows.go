package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// rows is what views and aggregates have in common: a table of rows with a key.
type rows struct {
	noun     string // "view" or "aggregate"
	table    string
	key      []Column
	keyField string   // of the file: key or group
	others   []string // attributes beside the key
	when     *expr.Item
}

// rowsOf is what a sink writes into a table; false where it writes none.
func rowsOf(s Sink) (rows, bool) {
	switch {
	case s.View != nil:
		r := rows{noun: "view", table: s.View.Table, key: s.View.Key, keyField: "key", when: s.View.When}
		for _, c := range s.View.Attributes {
			r.others = append(r.others, c.Name)
		}
		return r, true
	case s.Aggregate != nil:
		r := rows{noun: "aggregate", table: s.Aggregate.Table, key: s.Aggregate.Group, keyField: "group", when: s.Aggregate.When}
		for _, v := range s.Aggregate.Values {
			r.others = append(r.others, v.Name)
		}
		return r, true
	default:
		return rows{}, false
	}
}

// rowMark begins the names of what a row has that is not its view's.
const rowMark = "_tw"

// rowRules checks the key and the table of the rows of sink i. others are the
// attributes beside the key.
func (c *checker) rowRules(cfg *Config, i int, v *value, others []*value) {
	r, _ := rowsOf(cfg.Sinks[i])
	key := v.get(r.keyField)
	if key != nil && len(key.all()) > 2 {
		c.fail(key, "keep the partition key and the sort key", "a row's key has one or two attributes, not %d", len(key.all()))
	}
	c.attributeNameRules(key, others)
	c.tableNameRules(cfg, i, v)
	for _, e := range append(key.all(), others...) {
		switch {
		case e.name == rowMark:
			c.fail(e, "give it another name", "_tw is where a row keeps its version")
		case strings.HasPrefix(e.name, rowMark):
			c.fail(e, "give it another name", "names that begin with _tw are those of what a row keeps for itself")
		}
	}
	for _, e := range others {
		if key.get(e.name) != nil && !strings.HasPrefix(e.name, rowMark) {
			c.fail(e, "remove it, or give it another name", "the row's key has this attribute already")
		}
	}
	if key == nil || len(r.key) != len(key.all()) || len(r.key) == 0 {
		return
	}
	for j, col := range r.key {
		if !col.Template.Stable() {
			c.fail(key.entries[j], "make it of the item, {@key} and {@table}", "it differs from change to change of an item, and the row of an older one could not be found again")
		}
		if col.Template.Ambiguous() {
			what := "different items may come to the same text"
			if r.noun == "aggregate" {
				what = "different groups may come to the same text, and count as one"
			}
			c.warnAmbiguous(key.entries[j], what)
		}
	}
	var meet []string
	for _, other := range cfg.Sinks[:i] {
		switch o, ok := rowsOf(other); {
		case !ok || o.table != r.table:
		case columnNames(o.key) != columnNames(r.key):
			c.fail(key, "a table has one key: name the same attributes, in the same order", "the %s %s of the same table has the key %s, and this one %s", o.noun, other.Name, columnNames(o.key), columnNames(r.key))
		case sameKey(o.key, r.key):
			c.fail(key, "start one of the keys with a text of its own", "the %s %s of the same table has the same row keys: each would overwrite the other's rows", o.noun, other.Name)
		case mayMeet(o.key, r.key):
			meet = append(meet, other.Name)
		}
	}
	if len(meet) > 0 {
		c.warn(key, "start each key with a text of its own", "%s may come to the same row keys in this table, and a row is that of one sink", enumerate(meet, "and"))
	}
	if cfg.State != nil && cfg.State.Table == r.table {
		c.fail(v.get("table"), "give the rows a table of their own", "%s is the table of state", quoted(r.table))
	}
	if cfg.Leases != nil && cfg.Leases.Table == r.table && r.table != "" {
		c.fail(v.get("table"), "give the rows a table of their own", "%s is the table of leases", quoted(r.table))
	}
	c.ownTable(cfg, r, v)
}

// columnNames is "PK, SK".
func columnNames(cs []Column) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

func sameKey(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(x, y Column) bool { return x.Template.String() == y.Template.String() })
}

// mayMeet tells whether two keys could come to the same values, as far as their
// beginnings tell.
func mayMeet(a, b []Column) bool {
	return !slices.ContainsFunc(a, func(x Column) bool {
		i := slices.IndexFunc(b, func(y Column) bool { return y.Name == x.Name })
		p, pWhole := x.Template.Prefix()
		q, qWhole := b[i].Template.Prefix()
		return (pWhole || !strings.HasPrefix(q, p)) && (qWhole || !strings.HasPrefix(p, q)) && (p != q || !pWhole || !qWhole)
	})
}

// ownTable refuses rows in the source table that would be items of the sink itself.
func (c *checker) ownTable(cfg *Config, r rows, v *value) {
	own := slices.ContainsFunc(cfg.Source.Tables, func(t Table) bool { return t.Name == r.table })
	if !own {
		return
	}
	hint := "give the " + r.noun + " a table of its own, or a `when` that its rows do not meet"
	if r.when == nil && v.get("when") != nil {
		return // said when it was compiled
	}
	if r.when == nil {
		c.fail(v.get("table"), hint, "the %s would feed itself: it writes into its source table, and takes every item", r.noun)
		return
	}
	row := make(map[string]bool)
	for _, col := range r.key {
		row[col.Name] = true
	}
	for _, name := range r.others {
		row[name] = true
	}
	for _, p := range r.when.Paths() {
		if row[p] || p == "*" {
			c.fail(v.get("table"), hint, "the %s could feed itself: it writes into its source table, and its rows have what `when` reads (%s)", r.noun, p)
			return
		}
	}
	none, err := pipeline.ParseImage([]byte("{}"))
	if err != nil {
		return
	}
	if met, err := r.when.Match(none); met || err != nil {
		c.fail(v.get("table"), hint, "the %s would feed itself: it writes into its source table, and `when` takes items without %s, as its rows are", r.noun, enumerate(r.when.Paths(), "and"))
	}
}
