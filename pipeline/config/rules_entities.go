package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
)

// maxKeyAttributes is the maximum number of key attributes of a table.
const maxKeyAttributes = 2

// checkEntities checks each entity, and that no item can belong to two entities.
func (c *checker) checkEntities() {
	for i := range c.cfg.Entities {
		e := &c.cfg.Entities[i]
		key := c.ValueOf(&e.Key)
		c.FailIf(len(key.All()) > maxKeyAttributes, key, "keep the partition key and the sort key",
			"a table has one or two key attributes, not %d", len(key.All()))
		bound := e.toEntity().Names()
		sound := c.hasAllEntries(key, len(e.Key))
		for j, v := range c.ValueOf(&e.Unique).All() {
			name := v.Text()
			unbound := name != "" && sound && !slices.Contains(bound, name)
			if unbound && c.failMisread(e, name, true) {
				continue
			}
			c.FailIf(unbound, v, yamlbind.Hint(name, bound, "the key binds"),
				"%s is no name that the key binds, and only a key stays with its item", yamlbind.Quoted(name))
			c.FailIf(slices.Contains(e.Unique[:j], name), v, "remove one of them", "%s stands twice", yamlbind.Quoted(name))
		}
		c.checkKeyShapes(e)
		c.checkOneKey(e)
		for j := range i {
			c.checkOverlap(&c.cfg.Entities[j], e)
		}
	}
}

func keyAttribute(k KeyPattern) string { return k.Attribute }

// checkOneKey checks that one table can have both the key attributes of the entity and the key attributes that most
// entities have.
func (c *checker) checkOneKey(e *Entity) {
	if len(c.cfg.Source.Tables) > 1 {
		return
	}
	typical := c.typicalKey()
	all := slices.Concat(typical, texts(e.Key, keyAttribute))
	slices.Sort(all)
	c.FailIf(len(slices.Compact(all)) > maxKeyAttributes && len(e.Key) <= maxKeyAttributes, &e.Key,
		"name the same attributes",
		"a table has one key, and that of other entities has %s", yamlbind.Enumerate(typical, "and"))
}

// typicalKey returns the names of the key attributes that most entities have. If several keys are equally frequent, it
// returns the first of them.
func (c *checker) typicalKey() []string {
	var keys [][]string
	for i := range c.cfg.Entities {
		if names := texts(c.cfg.Entities[i].Key, keyAttribute); len(names) <= maxKeyAttributes {
			keys = append(keys, names)
		}
	}
	return mostFrequent(keys, func(names []string) string { return fmt.Sprint(names) })
}

// mostFrequent returns the first value in all whose name is the most frequent one. It returns the zero value if all is
// empty.
func mostFrequent[T any](all []T, name func(T) string) (typical T) {
	count, most := make(map[string]int), 0
	for _, v := range all {
		count[name(v)]++
	}
	for _, v := range all {
		if n := count[name(v)]; n > most {
			typical, most = v, n
		}
	}
	return typical
}

// checkKeyShapes checks the patterns of key attributes whose declared type is N or B. Such a pattern matches only if it
// is a single placeholder for the whole value.
func (c *checker) checkKeyShapes(e *Entity) {
	for _, v := range c.ValueOf(&e.Key).All() {
		p, kind := yamlbind.As[*entity.Pattern](v), c.cfg.Attributes[v.Name]
		if s := e.Attributes.shape; s != nil && s.Member(v.Name) != nil {
			kind = s.Member(v.Name).Kind
		}
		c.FailIf(p != nil && !p.BindsAll() && (kind == item.KindN || kind == item.KindB), v,
			"write one name alone, as in '{Number}'", "%s is declared as %s, which binds whole", v.Name, kind)
	}
}

// checkOverlap checks that no item can belong to both entities.
func (c *checker) checkOverlap(a, b *Entity) {
	x, y := a.toEntity(), b.toEntity()
	if !c.hasAllEntries(&a.Key, len(x.Key)) || !c.hasAllEntries(&b.Key, len(y.Key)) {
		return // a problem says already that one of the keys is wrong
	}
	comparison := entity.Compare(x, y)
	const hint = "change one of the patterns, or give both a `when`: item.Type == \"NAME\""
	switch {
	case comparison.Overlap == entity.Disjoint,
		a.When != nil && b.When != nil && exclude(a.When.Clause(), b.When.Clause()):
	case a.When != nil && b.When != nil:
		c.Warn(b, "compare one attribute of both with texts: item.Type == \"NAME\"",
			"whether an item can be of both %s and %s is not proven%s: such an item is of %s", a.Name, b.Name, example(comparison),
			a.Name)
	case comparison.Overlap == entity.Unproven:
		c.Warn(b, "begin the patterns with texts of their own",
			"whether a key can be of both %s and %s is not proven, because a name stands twice in one of them: such an item is of %s", a.Name, b.Name, a.Name)
	case a.When != nil || b.When != nil:
		c.Fail(b, hint, "an item can be of both %s and %s%s: one of them has no `when`", a.Name, b.Name, example(comparison))
	default:
		c.Fail(b, hint, "an item can be of both %s and %s%s", a.Name, b.Name, example(comparison))
	}
}

func example(c entity.Comparison) string {
	if c.Example == "" {
		return ""
	}
	return ", with the key " + c.Example
}

// exclude reports whether two expressions certainly are never both true for one item. They are not if they compare the
// same attribute with different texts or with different bools.
func exclude(a, b expr.Clause) bool {
	for _, x := range factors(a) {
		for _, y := range factors(b) {
			if x.Kind == expr.TextIn && y.Kind == expr.TextIn && x.Attribute == y.Attribute &&
				!slices.ContainsFunc(x.Texts, func(text string) bool { return slices.Contains(y.Texts, text) }) {
				return true
			}
			if x.Kind == expr.FlagIs && y.Kind == expr.FlagIs && x.Attribute == y.Attribute && x.Flag != y.Flag {
				return true
			}
		}
	}
	return false
}

// factors splits c into clauses that must all be true for c to be true.
func factors(c expr.Clause) []expr.Clause {
	if c.Kind != expr.AllOf {
		return []expr.Clause{c}
	}
	var all []expr.Clause
	for _, part := range c.Parts {
		all = append(all, factors(part)...)
	}
	return all
}

// shapesOf returns the shapes of the items of a scope, one for each entity. A shape has the attributes with their
// types. It returns nil if one of the entities declares no attributes or is broken (see isBroken).
func (c *checker) shapesOf(sc *entity.Scope) []*entity.Shape {
	var shapes []*entity.Shape
	for _, e := range sc.Entities() {
		if e.Attributes == nil || c.isBroken(e.Name) {
			return nil
		}
		shapes = append(shapes, c.shapeOf(e))
	}
	return shapes
}

// declaredKind returns the declared type of a top-level attribute of the items of a scope. It returns item.Absent if
// the type is not declared, or if the entities declare different types.
func (c *checker) declaredKind(sc *entity.Scope, name string) item.Kind {
	shapes := c.shapesOf(sc)
	if shapes == nil {
		return c.kindInFile(name)
	}
	kind := item.Absent
	for i, s := range shapes {
		m := s.Member(name)
		if m == nil || i > 0 && m.Kind != kind {
			return item.Absent
		}
		kind = m.Kind
	}
	return kind
}

// kindInFile returns the type that `attributes` at the top declares, unless an entity declares another one.
func (c *checker) kindInFile(name string) item.Kind {
	kind := c.cfg.Attributes[name]
	for _, e := range c.entitySet().All() {
		if e.Attributes == nil {
			continue
		}
		if m := e.Attributes.Member(name); m != nil && m.Kind != kind {
			return item.Absent
		}
	}
	return kind
}

// shapeOf returns the declared shape of an entity's items: the attributes of the entity, of its key, of `attributes` at
// the top, and of the TTL.
func (c *checker) shapeOf(e *entity.Entity) *entity.Shape {
	s := &entity.Shape{Kind: item.KindM}
	if e.Attributes != nil {
		s.Members = slices.Clone(e.Attributes.Members)
	}
	add := func(name string, kind item.Kind) {
		if name != "" && s.Member(name) == nil {
			s.Members = append(s.Members, entity.Member{Name: name, Shape: &entity.Shape{Kind: kind}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Attributes)) {
		add(name, c.cfg.Attributes[name])
	}
	add(c.cfg.Source.TTLAttribute, item.KindN)
	for _, k := range e.Key {
		kind := item.KindS
		if k.Pattern.BindsAll() {
			kind = item.KindNULL // an S, an N or a B
		}
		add(k.Attribute, kind)
	}
	return s
}

// isBroken reports whether an entity is broken: there is no entity with this name, or its key or its attributes could
// not be read. The names that a broken entity has are unknown.
func (c *checker) isBroken(name string) bool {
	i := slices.IndexFunc(c.cfg.Entities, func(e Entity) bool { return e.Name == name })
	if i < 0 {
		return true
	}
	e := &c.cfg.Entities[i]
	return !c.hasAllEntries(&e.Key, len(e.Key)) || e.Attributes.invalid
}

// hasBrokenOf reports whether the `of` of a sink names an unknown or broken entity.
func (c *checker) hasBrokenOf(s *Sink) bool {
	return slices.ContainsFunc(c.ValueOf(&s.Of).All(),
		func(v *value) bool { return v.Data == nil || c.isBroken(v.Text()) })
}

// hasWrongUnique reports whether an entity of the scope has `unique` names that its key does not bind.
func (c *checker) hasWrongUnique(sc *entity.Scope) bool {
	return slices.ContainsFunc(sc.Entities(), func(e *entity.Entity) bool {
		return slices.ContainsFunc(e.Unique, func(name string) bool { return !slices.Contains(e.Names(), name) })
	})
}

// isBrokenAt reports whether the `of` that applies to a field names an unknown or broken entity. Then the names that
// the field can read are unknown.
func (c *checker) isBrokenAt(field string) bool {
	for parent := field; parent != ""; parent = parentField(parent) {
		if c.wrongOfFields[parent] {
			return true
		}
		if names := c.ofNames[parent]; len(names) > 0 {
			return slices.ContainsFunc(names, c.isBroken)
		}
	}
	if rest, ok := strings.CutPrefix(field, "entities."); ok {
		return c.isBroken(strings.TrimSuffix(rest, ".when"))
	}
	return false
}

// hasBrokenEntity reports whether any entity is broken.
func (c *checker) hasBrokenEntity() bool {
	return slices.ContainsFunc(c.cfg.Entities, func(e Entity) bool { return c.isBroken(e.Name) })
}

// exprEnv returns the names that the expression at v can read, with their types.
func (c *checker) exprEnv(v *value) expr.Env {
	env := expr.Env{Attributes: c.cfg.Attributes, Scope: c.scopeAt(v.Field), Each: c.hasElements(v.Field),
		Unknown: c.unknownHint}
	shapes := c.shapesOf(env.Scope)
	if shapes == nil {
		return env
	}
	env.Attributes = make(map[string]item.Kind)
	for _, s := range shapes {
		for _, m := range s.Members {
			if kind, known := env.Attributes[m.Name]; known && kind != m.Shape.Kind {
				m.Shape = &entity.Shape{Kind: item.KindNULL} // any type
			}
			env.Attributes[m.Name] = m.Shape.Kind
		}
	}
	env.Declare = func(name string) string { return declareHint(env.Scope, "", name) }
	return env
}

// unknownHint returns a hint for a name that an expression does not know but the file has. It returns "" if the file
// does not have the name.
func (c *checker) unknownHint(name string) string {
	if c.entitySet().Named(name) != nil {
		return name + " is an entity: write item.NAME for an attribute of it, or new.NAME in a condition of changes"
	}
	return c.boundHint(name)
}

// boundHint returns a hint on how to read a name that the keys of entities bind. It returns "" if no key binds the
// name.
func (c *checker) boundHint(name string) string {
	var entities []string
	for _, e := range c.entitySet().All() {
		if slices.Contains(e.Names(), name) {
			entities = append(entities, e.Name)
		}
	}
	if entities == nil {
		return ""
	}
	list := entities[0]
	if len(entities) > 1 {
		list = "[" + strings.Join(entities, ", ") + "]"
	}
	return fmt.Sprintf("only beside `of: %s` it is the name that the key binds", list)
}

// declareHint returns a hint with the line that declares a name. inside is the path of the map that contains the name.
// It is "" if the name is a top-level attribute.
func declareHint(sc *entity.Scope, inside, name string) string {
	place := "the attributes of " + sc.String()
	if inside != "" {
		place = inside + " in " + place
	}
	return fmt.Sprintf("add `%s: S` (or its type) to %s", name, place)
}

// scopeOf returns the scope of a sink's `of`, or nil. For a notify sink without `of`, it is the scope of the entities
// of the sink's events, if every event has entities.
func (c *checker) scopeOf(s *Sink) *entity.Scope {
	names := c.cfg.EventEntities(s)
	if s.Scope != nil || len(names) == 0 {
		return s.Scope
	}
	return c.entitySet().Scope(names...)
}

// EventEntities returns the names of the entities whose items can raise a notify sink's events. It returns nil for
// other sinks, and if any item can raise one of the events.
func (cfg *Config) EventEntities(s *Sink) []string {
	if s.Notify == nil {
		return nil
	}
	var names []string
	for _, event := range s.Notify.Events {
		i := slices.IndexFunc(cfg.Detectors, func(d Detector) bool { return d.Name == event })
		if i < 0 || len(cfg.Detectors[i].Of) == 0 {
			return nil
		}
		names = append(names, cfg.Detectors[i].Of...)
	}
	return names
}

// bindAttributes resolves the attributes of a notify sink's events. An attribute is a name that keys bind, a path, or a
// path that is written as item.PATH.
func (c *checker) bindAttributes(s *Sink) {
	sc := c.scopeOf(s)
	if sc == nil {
		return
	}
	s.Notify.Attributes = nil
	for _, e := range c.ValueOf(&s.Notify.Attributes).All() {
		path, ok := e.Data.(item.Path)
		if b := sc.Binding(e.Source); b != nil {
			s.Notify.Bound = append(s.Notify.Bound, b)
			continue
		}
		// If the entities declare their attributes, checkNames reports the name instead.
		if bound, unbound := splitByName(sc, e.Source); len(bound) > 0 && len(unbound) > 0 && c.shapesOf(sc) == nil {
			c.Fail(e, "write a sink for the events of each", "the key of %s binds %s, and that of %s does not",
				yamlbind.Enumerate(bound, "and"), e.Source, yamlbind.Enumerate(unbound, "and"))
			continue
		}
		if inside, err := item.ParsePath(itemPath(e.Source)); err == nil {
			path = inside
		}
		if ok {
			s.Notify.Attributes = append(s.Notify.Attributes, path)
		}
	}
}

// splitByName splits the entities of a scope. bound has the names of the entities whose keys bind the name, and free
// has the names of the other entities.
func splitByName(sc *entity.Scope, name string) (bound, unbound []string) {
	for _, e := range sc.Entities() {
		if slices.Contains(e.Names(), name) {
			bound = append(bound, e.Name)
		} else {
			unbound = append(unbound, e.Name)
		}
	}
	return bound, unbound
}

// bindValues resolves the values of an aggregate. A value is a name that keys bind, a path, or a path that is written
// as item.PATH.
func (c *checker) bindValues(s *Sink) {
	if s.Scope == nil {
		return
	}
	fields := c.ValueOf(&s.Aggregate.Values)
	for i := range s.Aggregate.Values {
		v := &s.Aggregate.Values[i]
		if v.Of == "count" || v.Each {
			continue
		}
		if v.Bound = s.Scope.Binding(v.Path); v.Bound == nil {
			v.Path = cmp.Or(itemPath(v.Path), v.Path)
			continue
		}
		c.FailIf(v.Of == "sum" && v.Bound.IsText(), fields.Get(v.Name), "sum an attribute, or count the distinct texts",
			"%s is a part of a key, which is text", v.Path)
	}
}

// itemPath returns PATH for item.PATH. It returns "" for any other text.
func itemPath(text string) string {
	path, _ := item.CutItem(text)
	return path
}
