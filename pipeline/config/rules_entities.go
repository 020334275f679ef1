package config

import (
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
		c.checkUnique(e)
		c.checkKeyShapes(e)
		c.checkOneKey(e)
		for earlier := range i {
			c.checkOverlap(&c.cfg.Entities[earlier], e)
		}
	}
}

// checkUnique checks that the key of the entity binds each name of `unique`, and that no name is repeated.
func (c *checker) checkUnique(e *Entity) {
	bound := e.toEntity().Names()
	knowsBound := c.hasAllEntries(&e.Key, len(e.Key))
	for i, v := range c.ValueOf(&e.Unique).All() {
		name := v.Text()
		isUnbound := knowsBound && name != "" && !slices.Contains(bound, name)
		if isUnbound && c.failMissingBraces(e, name, anyForm) {
			continue
		}
		c.FailIf(isUnbound, v, yamlbind.Hint(name, bound, "the key binds"),
			"%s is not a name that the key binds, and only a key stays with its item", yamlbind.Quoted(name))
		c.failIfRepeated(e.Unique[:i], v)
	}
}

// failIfRepeated refuses an entry of a list that is equal to one of the earlier entries.
func (c *checker) failIfRepeated(earlier []string, entry *value) {
	c.FailIf(slices.Contains(earlier, entry.Text()), entry, "remove one of them", "%s occurs twice",
		yamlbind.Quoted(entry.Text()))
}

func keyAttribute(k KeyPattern) string { return k.Attribute }

// checkOneKey checks that one table can have both the key attributes of the entity and the key attributes that most
// entities have.
func (c *checker) checkOneKey(e *Entity) {
	isTooLong := len(e.Key) > maxKeyAttributes // reported already
	if len(c.cfg.Source.Tables) > 1 || isTooLong {
		return
	}
	typical := c.typicalKey()
	attributes := slices.Concat(typical, textsOf(e.Key, keyAttribute))
	slices.Sort(attributes)
	c.FailIf(len(slices.Compact(attributes)) > maxKeyAttributes, &e.Key, "name the same attributes",
		"a table has one key, and that of other entities has %s", yamlbind.Enumerate(typical, "and"))
}

// typicalKey returns the names of the key attributes that most entities have. If several keys are equally frequent, it
// returns the first of them.
func (c *checker) typicalKey() []string {
	var keys [][]string
	for i := range c.cfg.Entities {
		if names := textsOf(c.cfg.Entities[i].Key, keyAttribute); len(names) <= maxKeyAttributes {
			keys = append(keys, names)
		}
	}
	return mostFrequent(keys, func(names []string) string { return fmt.Sprint(names) })
}

// mostFrequent counts the values that have the same name(v), and returns the first value with the most frequent name.
// It returns the zero value if there are no values.
func mostFrequent[T any](values []T, name func(T) string) (typical T) {
	counts := make(map[string]int) // by name
	for _, v := range values {
		counts[name(v)]++
	}
	highest := 0
	for _, v := range values {
		if count := counts[name(v)]; count > highest {
			typical, highest = v, count
		}
	}
	return typical
}

// checkKeyShapes checks the patterns of key attributes whose declared type is N or B. Such a pattern matches only if it
// is a single placeholder for the whole value.
func (c *checker) checkKeyShapes(e *Entity) {
	for _, v := range c.ValueOf(&e.Key).All() {
		pattern, kind := yamlbind.As[*entity.Pattern](v), c.cfg.Attributes[v.Name]
		if shape := e.Attributes.shape; shape != nil && shape.Member(v.Name) != nil {
			kind = shape.Member(v.Name).Kind
		}
		mustBindAll := kind == item.KindN || kind == item.KindB
		c.FailIf(mustBindAll && pattern != nil && !pattern.BindsAll(), v,
			"write one name alone, as in '{Number}'", "%s is declared as %s, which binds whole", v.Name, kind)
	}
}

// scopeShapes returns the shapes of the items of a scope, one for each entity. A shape has the attributes with their
// types. scopeShapes returns nil if one of the entities declares no attributes or is broken (see isBroken).
func (c *checker) scopeShapes(sc *entity.Scope) []*entity.Shape {
	var shapes []*entity.Shape
	for _, e := range sc.Entities() {
		if e.Attributes == nil || c.isBroken(e.Name) {
			return nil
		}
		shapes = append(shapes, c.entityShape(e))
	}
	return shapes
}

// declaredKind returns the declared type of a top-level attribute of the items of a scope. It returns item.Absent if
// the type is not declared, or if the entities declare different types.
func (c *checker) declaredKind(sc *entity.Scope, name string) item.Kind {
	shapes := c.scopeShapes(sc)
	if shapes == nil {
		return c.kindInFile(name)
	}
	kind := item.Absent
	for i, s := range shapes {
		m := s.Member(name)
		if m == nil {
			return item.Absent
		}
		if isDifferent := i > 0 && m.Kind != kind; isDifferent {
			return item.Absent
		}
		kind = m.Kind
	}
	return kind
}

// kindInFile returns the type that `attributes` at the top declares. If an entity declares another type for the name,
// it returns item.Absent.
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

// entityShape returns the declared shape of an entity's items. It has the attributes that the entity declares, the
// attributes that `attributes` at the top declares, the TTL attribute, and the key attributes.
func (c *checker) entityShape(e *entity.Entity) *entity.Shape {
	s := &entity.Shape{Kind: item.KindM}
	if e.Attributes != nil {
		s.Members = slices.Clone(e.Attributes.Members)
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Attributes)) {
		addMissing(s, name, c.cfg.Attributes[name])
	}
	addMissing(s, c.cfg.Source.TTLAttribute, item.KindN)
	for _, k := range e.Key {
		kind := item.KindS
		if k.Pattern.BindsAll() {
			kind = item.KindNULL // an S, an N or a B
		}
		addMissing(s, k.Attribute, kind)
	}
	return s
}

// addMissing adds a member to the shape of a map, unless the name is "" or the shape has a member of this name.
func addMissing(s *entity.Shape, name string, kind item.Kind) {
	if name != "" && s.Member(name) == nil {
		s.Members = append(s.Members, entity.Member{Name: name, Shape: &entity.Shape{Kind: kind}})
	}
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

// namesBrokenEntity reports whether the `of` of a sink names an unknown or broken entity.
func (c *checker) namesBrokenEntity(s *Sink) bool {
	return slices.ContainsFunc(c.ValueOf(&s.Entities).All(),
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
	env := expr.Env{Attributes: c.cfg.Attributes, Scope: c.scopeAt(v.Field), Each: c.isInForEach(v.Field),
		UnknownHint: c.unknownHint}
	shapes := c.scopeShapes(env.Scope)
	if shapes == nil {
		return env
	}
	env.Attributes = make(map[string]item.Kind)
	for _, s := range shapes {
		for _, m := range s.Members {
			kind := m.Shape.Kind
			if other, known := env.Attributes[m.Name]; known && other != kind {
				kind = item.KindNULL // any type
			}
			env.Attributes[m.Name] = kind
		}
	}
	env.DeclareHint = func(name string) string { return declareHint(env.Scope, "", name) }
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
// inside is "" if the name is a top-level attribute.
func declareHint(sc *entity.Scope, inside, name string) string {
	place := "the attributes of " + sc.String()
	if inside != "" {
		place = inside + " in " + place
	}
	return fmt.Sprintf("add `%s: S` (or its type) to %s", name, place)
}
