package config

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// rowSpec describes the rows of a view or an aggregate. Both write rows with a key into a table.
type rowSpec struct {
	sink           *Sink
	noun           string // "view" or "aggregate"
	table          *Table
	key            *[]Column
	attributes     any // address of the field with the other attributes
	attributeNames []string
}

// rowsOf returns the rows of a sink. It returns false if the sink is neither a view nor an aggregate.
func rowsOf(s *Sink) (rowSpec, bool) {
	switch {
	case s.View != nil:
		r := rowSpec{sink: s, noun: "view", table: &s.View.Table, key: &s.View.Key, attributes: &s.View.Attributes}
		r.attributeNames = textsOf(s.View.Attributes, columnName)
		return r, true
	case s.Aggregate != nil:
		r := rowSpec{sink: s, noun: "aggregate", table: &s.Aggregate.Table, key: &s.Aggregate.Group,
			attributes: &s.Aggregate.Values}
		r.attributeNames = textsOf(s.Aggregate.Values, func(v AggregateValue) string { return v.Name })
		return r, true
	}
	return rowSpec{}, false
}

// earlierRows returns the rows of the sinks that come before r's sink in the file. It leaves out rows with an invalid
// key.
func (c *checker) earlierRows(r rowSpec) []rowSpec {
	var earlier []rowSpec
	for _, s := range c.sinks {
		if s == r.sink {
			break
		}
		if other, ok := rowsOf(s); ok && c.hasValidKey(other) {
			earlier = append(earlier, other)
		}
	}
	return earlier
}

// sharesKey reports whether the rows of two sinks are in one table and have the same key attributes.
func (r rowSpec) sharesKey(other rowSpec) bool {
	return other.table.Name == r.table.Name && columnNames(*other.key) == columnNames(*r.key)
}

// hasValidKey reports whether the key of r could be read and has one or two attributes. If not, a problem says why.
func (c *checker) hasValidKey(r rowSpec) bool {
	return c.hasAllEntries(r.key, len(*r.key)) && len(*r.key) <= maxKeyAttributes
}

// ownAttributePrefix is the prefix of the attributes that tablewake adds to a row.
const ownAttributePrefix = "_tw"

// checkRows checks the key and the table of the rows of a sink.
func (c *checker) checkRows(s *Sink) {
	r, _ := rowsOf(s)
	key := c.ValueOf(r.key)
	c.checkTableNameLength(r.table)
	if c.hasValidKey(r) {
		c.checkKeyTypes(r)
	}
	c.FailIf(len(key.All()) > maxKeyAttributes, key, "keep the partition key and the sort key",
		"a row's key has one or two attributes, not %d", len(key.All()))
	c.checkAttributeNames(key, c.ValueOf(r.attributes).All())
	c.checkTableName(r)
	if !c.hasValidKey(r) {
		return
	}
	c.checkRowIdentity(r)
	c.checkSharedTable(r)
	if r.table.Name != "" { // else the binding has reported it
		c.refuseSelfFeeding(r)
	}
}

// checkRowIdentity checks that the key of an item's row never changes, and warns if several items or groups can have
// the same row.
func (c *checker) checkRowIdentity(r rowSpec) {
	entries := c.ValueOf(r.key).Entries
	identifiesItem := r.sink.View != nil && r.sink.View.keyIdentifiesItem()
	missing := missingName(r.sink)
	for i, col := range *r.key {
		c.FailIf(!col.Template.Stable(), entries[i], "make it of the item, {@key} and {@table}",
			"it differs from change to change of an item, and the row of an older one could not be found again")
		mayBeSame := col.Template.Ambiguous() && !identifiesItem
		switch {
		case mayBeSame && r.sink.Aggregate != nil:
			c.warnAmbiguous(entries[i], "different groups may give the same text, and count as one")
		case mayBeSame && missing == "": // otherwise the warning below reports it
			c.warnAmbiguous(entries[i], "different items may give the same text")
		}
	}
	c.WarnIf(missing != "", entries[len(entries)-1], "add {"+missing+"} (or {@key})",
		"several items can have this row: its key lacks what tells them apart")
}

// missingName returns a name of an entity that is missing in the key of a view's rows. Items are distinguished by the
// names in `unique` of their entity, or else by all names that its key binds. Without one of them, several items can
// have the same row. missingName returns "" if no name is missing, or if another attribute in the key may distinguish
// the items.
func missingName(s *Sink) string {
	v := s.View
	if v == nil || v.ForEach != nil || v.Collision != "dead_letter" || v.keyHasItemKey() {
		return ""
	}
	namesItem := slices.ContainsFunc(v.Key, func(col Column) bool { return col.Template.NamesItem() })
	if !namesItem || slices.ContainsFunc(v.Key, mayDistinguishItems) {
		return ""
	}
	bound := v.boundNames()
	isMissing := func(name string) bool { return !slices.Contains(bound, name) && !v.keyConverts(name) }
	for _, e := range s.Scope.Entities() {
		names := e.Unique
		if len(names) == 0 {
			names = e.Names()
		}
		if i := slices.IndexFunc(names, isMissing); i >= 0 {
			return names[i]
		}
	}
	return ""
}

// keyConverts reports whether the key of a row has the name with a function, such as {Name|lower}.
func (v *View) keyConverts(name string) bool {
	return slices.ContainsFunc(v.Key,
		func(col Column) bool { return strings.Contains(col.Template.String(), "{"+name+"|") })
}

// mayDistinguishItems reports whether an unambiguous column reads an attribute other than a date.
func mayDistinguishItems(col Column) bool {
	dates := col.Template.DatePaths()
	isNoDate := func(path string) bool { return !slices.Contains(dates, path) }
	return slices.ContainsFunc(col.Template.ItemPaths(), isNoDate) && !col.Template.Ambiguous()
}

// rowsIn returns the rows that sinks write into a table. It leaves out rows with an invalid key.
func (c *checker) rowsIn(table string) []rowSpec {
	var written []rowSpec
	for _, s := range c.sinks {
		if r, ok := rowsOf(s); ok && r.table.Name == table && c.hasValidKey(r) {
			written = append(written, r)
		}
	}
	return written
}

// checkSharedTable checks that the sinks of one table have the same key attributes and different rows.
func (c *checker) checkSharedTable(r rowSpec) {
	typical := mostFrequent(c.rowsIn(r.table.Name), func(r rowSpec) string { return columnNames(*r.key) })
	ours := columnNames(*r.key)
	if theirs := columnNames(*typical.key); theirs != ours {
		c.Fail(r.key, "a table has one key: name the same attributes, in the same order",
			"the %s %s of the same table has the key %s, and this one %s", typical.noun, typical.sink.Name, theirs, ours)
		return
	}
	var colliding []string // names of sinks
	for _, other := range c.earlierRows(r) {
		switch {
		case !r.sharesKey(other):
		case sameKey(*other.key, *r.key):
			c.Fail(r.key, "start one of the keys with a text of its own",
				"the %s %s of the same table has the same row keys: each would overwrite the other's rows", other.noun,
				other.sink.Name)
		case mayCollide(*other.key, *r.key):
			colliding = append(colliding, other.sink.Name)
		}
	}
	c.WarnIf(len(colliding) > 0, r.key, "start each key with a text of its own",
		"%s may give the same row keys in this table, and a row is that of one sink", yamlbind.Enumerate(colliding, "and"))
}

// columnNames returns the names as one text, such as "PK, SK".
func columnNames(cs []Column) string {
	return strings.Join(textsOf(cs, columnName), ", ")
}

func columnName(c Column) string { return c.Name }

func tableName(t Table) string { return t.Name }

func sameKey(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(x, y Column) bool { return x.Template.String() == y.Template.String() })
}

// mayCollide reports whether two keys with the same attributes may have equal values. They cannot if the values of one
// attribute always differ.
func mayCollide(a, b []Column) bool {
	for _, col := range a {
		if alwaysDiffer(col.Template, columnNamed(b, col.Name).Template) {
			return false
		}
	}
	return true
}

// columnNamed returns the column called name, or nil.
func columnNamed(columns []Column, name string) *Column {
	i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &columns[i]
}

// minTableName is the minimum length of a DynamoDB table's name.
const minTableName = 3

func (c *checker) checkTableNameLength(t *Table) {
	if t.Name != "" && len(t.Name) < minTableName {
		problem := c.Problem(t, "give it a longer name",
			"a DynamoDB table's name has 3 characters or more, and %s has %d", yamlbind.Quoted(t.Name), len(t.Name))
		c.localOnly, c.notLive = append(c.localOnly, problem), append(c.notLive, problem)
	}
}

// checkKeyTypes checks that all sinks of one table have the same types of key attributes.
func (c *checker) checkKeyTypes(r rowSpec) {
	types := c.keyTypes(r)
	for _, other := range c.earlierRows(r) {
		if !r.sharesKey(other) {
			continue
		}
		for i, theirs := range c.keyTypes(other) {
			ours := types[i]
			areKnown := ours != unknownKeyType && theirs != unknownKeyType
			if areKnown && ours != theirs {
				c.failOnServers(c.ValueOf(r.key).Entries[i], "make both a text, or both the attribute itself",
					"a key attribute of a table has one type: it is %s here, and %s in the %s %s of the same table", ours, theirs,
					other.noun, other.sink.Name)
				return
			}
		}
	}
}

// unknownKeyType stands for the type of a key attribute if the file does not declare the type.
const unknownKeyType = item.Kind(0)

// keyTypes returns the types of r's key attributes. It returns unknownKeyType for an attribute whose type the file does
// not declare.
func (c *checker) keyTypes(r rowSpec) []item.Kind {
	types := make([]item.Kind, len(*r.key))
	isSharded := r.sink.Aggregate != nil && r.sink.Aggregate.Shards > 1
	for i, col := range *r.key {
		types[i] = item.KindS
		if i == 0 && isSharded {
			continue // the number of the shard is appended to it as text
		}
		switch kind := c.cfg.KeyType(r.sink.Scope, col.Template); kind {
		case unknownKeyType, item.KindN, item.KindB:
			types[i] = kind
		}
	}
	return types
}

// KeyType returns the type of a key attribute. The template t makes the values of the attribute from the items of the
// scope. It returns the zero Kind if the file does not declare the type. It does not check that a key attribute can
// have the declared type.
func (cfg *Config) KeyType(sc *entity.Scope, t *template.Template) item.Kind {
	if b := t.Bound(); b != nil && !b.IsText() && len(b.Attributes()) == 1 {
		return cfg.attributeKind(sc, b.Attributes()[0])
	}
	if path, isPath := t.Path(); isPath {
		return cfg.attributeKind(sc, path)
	}
	return item.KindS
}

// attributeKind returns the declared type of an attribute of the scope's items, or the zero Kind.
func (cfg *Config) attributeKind(sc *entity.Scope, path string) item.Kind {
	kind := cfg.Attributes[path]
	for _, e := range sc.Entities() {
		if e.Attributes != nil && e.Attributes.Member(path) != nil {
			kind = e.Attributes.Member(path).Kind
		}
	}
	return kind
}

// reservedPrefixes are the prefixes of the names of tables that embedded stores use internally.
var reservedPrefixes = []string{"_tw_", "_tws_", "sqlite_"}

// checkTableName checks that the embedded store can use the name of the table. In that store some names are reserved,
// and names are case-insensitive.
func (c *checker) checkTableName(r rowSpec) {
	lower := strings.ToLower(r.table.Name)
	hasReservedPrefix := slices.ContainsFunc(reservedPrefixes,
		func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
	c.FailIf(lower == "tables" || hasReservedPrefix, r.table, "give the table another name",
		"%s is reserved: tables, and names that begin with %s, are what a folder of embedded stores has for itself",
		yamlbind.Quoted(r.table.Name), yamlbind.Enumerate(reservedPrefixes, "or"))
	for _, other := range c.earlierRows(r) {
		if other.table.Name != r.table.Name && strings.EqualFold(other.table.Name, r.table.Name) {
			c.Fail(r.table, "rename one of them",
				"%s and the table %s of %s differ only in case, and a folder of embedded stores takes them for one",
				yamlbind.Quoted(r.table.Name), yamlbind.Quoted(other.table.Name), other.sink.Name)
			return
		}
	}
}

// maxKeyName is the maximum length of a DynamoDB key attribute's name, in bytes.
const maxKeyName = 255

// checkAttributeNames checks the names of the key attributes and of the other attributes of a row.
func (c *checker) checkAttributeNames(key *value, others []*value) {
	for _, e := range slices.Concat(key.All(), others) {
		c.FailIf(e.Name == "", e, "give it a name", "an attribute has a name")
	}
	for _, e := range key.All() {
		c.FailIf(len(e.Name) > maxKeyName || strings.ContainsRune(e.Name, 0), e,
			"give it a name of 1 to 255 bytes, without NUL", "it is not a name of a key attribute")
	}
	for _, e := range slices.Concat(key.All(), others) {
		switch {
		case e.Name == ownAttributePrefix:
			c.Fail(e, "give it another name", "_tw is where a row keeps its version")
		case strings.HasPrefix(e.Name, ownAttributePrefix):
			c.Fail(e, "give it another name", "names that begin with _tw are those of what a row keeps for itself")
		}
	}
	for _, e := range others {
		c.FailIf(key.Get(e.Name) != nil && !strings.HasPrefix(e.Name, ownAttributePrefix), e,
			"remove it, or give it another name", "the row's key has this attribute already")
	}
}
