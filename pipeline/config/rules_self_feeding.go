package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// isSource reports whether the table is a source table.
func (c *checker) isSource(table string) bool {
	return slices.Contains(textsOf(c.cfg.Source.Tables, tableName), table)
}

// refuseSelfFeeding refuses rows in a source table if the sink could read its own rows as items of that table.
func (c *checker) refuseSelfFeeding(r rowSpec) {
	if !r.mayBeItems() || c.namesBrokenEntity(r.sink) || !c.isSource(r.table.Name) {
		return
	}
	when := r.sink.WhenItem
	whenIsInvalid := when == nil && c.Has(&r.sink.WhenItem)
	if whenIsInvalid {
		return // yamlbind has reported it
	}
	hint := "give the " + r.noun + " a table of its own, or a `when` that its rows do not meet"
	if when == nil {
		c.Fail(r.table, hint, "the %s would feed itself: it writes into its source table, and takes every item", r.noun)
		return
	}
	rowNames := slices.Concat(r.attributeNames, textsOf(*r.key, columnName))
	copiesItem := r.sink.View != nil && r.sink.View.AllAttributes
	isInRow := func(path string) bool { return path == "*" || copiesItem || slices.Contains(rowNames, path) }
	if i := slices.IndexFunc(when.Paths(), isInRow); i >= 0 {
		c.Fail(r.table, hint,
			"the %s could feed itself: it writes into its source table, and its rows have what `when` reads (%s)",
			r.noun, when.Paths()[i])
		return
	}
	// A row has none of the paths that `when` reads, so `when` takes a row if it takes an empty item.
	empty, err := item.Parse([]byte("{}"))
	if err != nil {
		return
	}
	if met, err := when.Match(empty); met || err != nil {
		c.Fail(r.table, hint,
			"the %s would feed itself: it writes into its source table, and `when` takes items without %s, as its rows are",
			r.noun, yamlbind.Enumerate(when.Paths(), "and"))
	}
}

// mayBeItems reports whether a row of the sink can be an item that the sink reads.
func (r rowSpec) mayBeItems() bool {
	return r.sink.Scope == nil || slices.ContainsFunc(r.sink.Scope.Entities(), r.mayBelongTo)
}

// mayBelongTo reports whether a row can be an item of the entity. It cannot if one key attribute of the rows never
// matches the entity's pattern.
func (r rowSpec) mayBelongTo(e *entity.Entity) bool {
	for _, k := range e.Key {
		if col := columnNamed(*r.key, k.Attribute); col != nil && alwaysDiffer(k.Pattern, col.Template) {
			return false
		}
	}
	return true
}

// prefixed is a template or a key pattern. Prefix returns the fixed text with which its values begin. isWhole is true
// if the only value is this text.
type prefixed interface {
	Prefix() (text string, isWhole bool)
}

// alwaysDiffer reports whether the prefixes show that no value of a equals a value of b. A common value would begin
// with both prefixes.
func alwaysDiffer(a, b prefixed) bool {
	aPrefix, aIsWhole := a.Prefix()
	bPrefix, bIsWhole := b.Prefix()
	switch {
	case aIsWhole && bIsWhole:
		return aPrefix != bPrefix
	case aIsWhole:
		return !strings.HasPrefix(aPrefix, bPrefix)
	case bIsWhole:
		return !strings.HasPrefix(bPrefix, aPrefix)
	}
	return !strings.HasPrefix(aPrefix, bPrefix) && !strings.HasPrefix(bPrefix, aPrefix)
}
