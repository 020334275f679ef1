package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

const stateHint = "say it in the `when` of each state sink, or put the filter under the sinks that are about changes"

// stateFilters refuses filters that could drop the change which takes an item
// out of a state sink. where says which sinks, in words.
func (c *checker) stateFilters(fs []Filter, where string) {
	for _, f := range fs {
		if pipeline.ReadsKeysOnly(f.Filter) {
			continue
		}
		if f.verb.name == "drop" && f.verb.text() == "ttl_deletes" {
			c.warn(f.verb, "remove the filter where expired items should go", "TTL deletes are dropped %s: rows and documents of expired items stay", where)
			continue
		}
		c.fail(f.verb, stateHint, "reads more than keys %s: %s", where, missed(f.verb))
	}
}

// missed says which changes a state sink would not see.
func missed(verb *value) string {
	drop := verb.name == "drop"
	switch w := verb.text(); {
	case w == "":
	case !drop:
		return "every change but those would be missed"
	case w == "probable_ttl":
		return "deletes of expired items would be missed, by users too, and their rows and documents would stay"
	case w == "no_change" || w == "replication_echoes":
		return "a state sink must see every version, and writes the same row or document again at no harm"
	}
	f := form(verb)
	if f == nil {
		return ""
	}
	switch f.name {
	case "op":
		dropped := f.texts()
		if !drop {
			dropped = nil
			for _, op := range []string{"INSERT", "MODIFY", "REMOVE"} {
				if !slices.Contains(f.texts(), op) {
					dropped = append(dropped, op)
				}
			}
		}
		var ms []string
		for _, m := range []struct{ op, text string }{
			{"INSERT", "new items would be missed"},
			{"MODIFY", "updates would be missed, and leaves: items that no longer meet `when`"},
			{"REMOVE", "deletes would be missed, and rows and documents of deleted items would stay"},
		} {
			if slices.Contains(dropped, m.op) {
				ms = append(ms, m.text)
			}
		}
		return strings.Join(ms, "; ")
	case "entity":
		return "an item whose attribute changes would be let in and never out: its leave would be missed"
	case "changed", "unchanged":
		return "a change elsewhere in the item that makes it leave would be missed"
	default:
		return "a delete, or a change that makes an item leave, would be missed where the condition judges it otherwise than the change that let the item in"
	}
}

// viewRules checks the row key and the table of a view.
func (c *checker) viewRules(cfg *Config, i int, v *value) {
	view := cfg.Sinks[i].View
	key := v.get("key")
	if key != nil && len(key.all()) > 2 {
		c.fail(key, "keep the partition key and the sort key", "a row's key has one or two attributes, not %d", len(key.all()))
	}
	for _, e := range append(key.all(), v.get("attributes").all()...) {
		if e.name == "_tw" {
			c.fail(e, "give it another name", "_tw is where a row keeps its version")
		}
	}
	for _, e := range v.get("attributes").all() {
		if key.get(e.name) != nil && e.name != "_tw" {
			c.fail(e, "remove it", "the row's key has this attribute already")
		}
	}
	if key == nil || len(view.Key) != len(key.all()) || len(view.Key) == 0 {
		return
	}
	c.rowGuard(view, v)
	for j, col := range view.Key {
		if !col.Template.Stable() {
			c.fail(key.entries[j], "make it of the item, {@key} and {@table}", "it differs from change to change of an item, and the row of an older one could not be found again")
		}
		if col.Template.Ambiguous() {
			c.warnAmbiguous(key.entries[j])
		}
	}
	for _, other := range cfg.Sinks[:i] {
		switch o := other.View; {
		case o == nil || tableName(o.Table) != tableName(view.Table):
		case columnNames(o.Key) != columnNames(view.Key):
			c.fail(key, "a table has one key: name the same attributes, in the same order", "the view %s of the same table has the key %s, and this one %s", other.Name, columnNames(o.Key), columnNames(view.Key))
		case sameKey(o.Key, view.Key):
			c.fail(key, "start one of the keys with a text of its own", "the view %s of the same table has the same row keys: each would overwrite the other's rows", other.Name)
		}
	}
	c.ownTable(cfg, view, v)
}

// rowGuard warns where what keeps a row from the claims of several items is not
// what the file seems to expect.
func (c *checker) rowGuard(view *View, v *value) {
	if e := v.get("on_collision"); e != nil && view.holdsKey() {
		c.warn(e, "remove it", "no two items can claim a row: {@key} is in its key")
	}
}

// holdsKey tells whether the item's key decodes from the row's by {@key}, so that
// no two items claim a row.
func (v *View) holdsKey() bool {
	return slices.ContainsFunc(v.Key, func(c Column) bool { return c.Template.HasKey() })
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

// ownTable refuses a view in its own source table whose rows would be items of
// the view themselves.
func (c *checker) ownTable(cfg *Config, view *View, v *value) {
	own := slices.ContainsFunc(cfg.Source.Tables, func(t Table) bool { return t.Name == tableName(view.Table) })
	if !own {
		return
	}
	const hint = "give the view a table of its own, or a `when` that its rows do not meet"
	if view.When == nil {
		c.fail(v.get("table"), hint, "the view would feed itself: it writes into its source table, and takes every item")
		return
	}
	row := make(map[string]bool)
	for _, col := range append(slices.Clone(view.Key), view.Attributes...) {
		row[col.Name] = true
	}
	for _, p := range view.When.Paths() {
		if row[p] || p == "*" {
			c.fail(v.get("table"), hint, "the view could feed itself: it writes into its source table, and its rows have what `when` reads (%s)", p)
			return
		}
	}
	none, err := pipeline.ParseImage([]byte("{}"))
	if err != nil {
		return
	}
	if met, err := view.When.Match(none); met || err != nil {
		c.fail(v.get("table"), hint, "the view would feed itself: it writes into its source table, and `when` takes items without %s, as its rows are", enumerate(view.When.Paths(), "and"))
	}
}
