package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Entity is one kind of item: its key has these patterns, and it meets When.
type Entity struct {
	Name   string
	Key    map[string]Pattern // by key attribute
	Unique []string           // bound names that are said to identify an item
	When   *Condition
}

// Pattern is a key attribute's: fixed texts around names, one more than there are names.
type Pattern struct{ Texts, Names []string }

// String is the pattern as the configuration has it.
func (p Pattern) String() string {
	out := p.Texts[0]
	for i, name := range p.Names {
		out += "{" + name + "}" + p.Texts[i+1]
	}
	return out
}

// bind returns the values of the names in a key attribute, and false if the pattern does not match. A pattern of one name
// alone matches any value. Otherwise a name matches one character or more, up to the fixed text that follows it.
func (p Pattern) bind(a sinktest.Attr) (map[string]sinktest.Attr, bool) {
	bound := map[string]sinktest.Attr{}
	if p.String() == "{"+strings.Join(p.Names, "")+"}" {
		bound[p.Names[0]] = a
		return bound, tag(a) != ""
	}
	s, isText := a["S"].(string)
	rest, ok := strings.CutPrefix(s, p.Texts[0])
	if !isText || !ok {
		return nil, false
	}
	for i, name := range p.Names {
		piece, after := rest, ""
		if behind := p.Texts[i+1]; behind != "" {
			if piece, after, ok = strings.Cut(rest, behind); !ok {
				return nil, false
			}
		}
		if piece == "" {
			return nil, false
		}
		bound[name], rest = text(piece), after
	}
	return bound, rest == ""
}

// bind are the values of the names in an item's key; false if the key is not one of the entity.
func (e Entity) bind(it sinktest.Item) (map[string]sinktest.Attr, bool) {
	all := map[string]sinktest.Attr{}
	for name, p := range e.Key {
		bound, ok := p.bind(it[name])
		if !ok {
			return nil, false
		}
		maps.Copy(all, bound)
	}
	return all, true
}

// yaml is the entity as the configuration has it.
func (e Entity) yaml() string {
	var keys []string
	for _, name := range slices.Sorted(maps.Keys(e.Key)) {
		keys = append(keys, name+": "+quote(e.Key[name].String()))
	}
	out := "{key: {" + strings.Join(keys, ", ") + "}"
	if e.Unique != nil {
		out += ", unique: [" + strings.Join(e.Unique, ", ") + "]"
	}
	if e.When != nil {
		out += ", when: " + quote(e.When.CEL("item"))
	}
	return out + "}"
}

// Scope is some of the entities of a configuration; nil: every item.
type Scope struct {
	All   []Entity
	Names []string
}

func (s *Scope) yaml() string { return "[" + strings.Join(s.Names, ", ") + "]" }

// entities are those that the scope names.
func (s *Scope) entities() (some []Entity) {
	for _, e := range s.All {
		if slices.Contains(s.Names, e.Name) {
			some = append(some, e)
		}
	}
	return some
}

// keysOnly reports whether no entity of the scope has a condition.
func (s *Scope) keysOnly() bool {
	return !slices.ContainsFunc(s.All, func(e Entity) bool { return e.When != nil })
}

// hasKey reports whether the key patterns of an entity of the scope match. Conditions are not evaluated.
func (s *Scope) hasKey(keys sinktest.Item) bool {
	return s == nil || slices.ContainsFunc(s.entities(), func(e Entity) bool {
		_, ok := e.bind(keys)
		return ok
	})
}

// has reports whether an item is of an entity of the scope. An item belongs to the first entity whose key and condition
// match.
func (s *Scope) has(it sinktest.Item) verdict {
	if s == nil {
		return found
	}
	if it == nil || !s.hasKey(it) {
		return missing
	}
	for _, e := range s.entities() {
		if is := s.is(e, it); is != missing {
			return is
		}
	}
	return missing
}

// is reports whether an item belongs to the entity e, and to no entity before e.
func (s *Scope) is(e Entity, it sinktest.Item) verdict {
	if _, ok := e.bind(it); !ok {
		return missing
	}
	for _, before := range s.All {
		if before.Name == e.Name {
			break
		}
		if _, ok := before.bind(it); ok {
			switch holds(before.When, it) {
			case found:
				return missing
			case failed:
				return failed
			}
		}
	}
	return holds(e.When, it)
}

// latest returns the image that decides the entity of an item.
func latest(r sinktest.Record) sinktest.Item {
	switch {
	case r.New != nil:
		return r.New
	case r.Old != nil:
		return r.Old
	}
	return r.Keys
}

// Binding is a name that the keys of all entities of a scope bind.
type Binding struct {
	Of   *Scope
	Name string
}

func (b *Binding) value(it sinktest.Item) sinktest.Attr {
	for _, e := range b.Of.entities() {
		if bound, ok := e.bind(it); ok {
			return bound[b.Name]
		}
	}
	return nil
}

// scoped is a state sink's condition: that of the entities, and only for items of them the sink's own.
func (s *Scope) scoped(when *Condition) *Condition {
	if s == nil || s.keysOnly() {
		return when
	}
	c := Condition{Op: "of", Of: s}
	if when != nil {
		c.Inner = []Condition{*when}
	}
	return &c
}

// scoped is the sink with conditions on the entities of an item.
func (s Sink) scoped() Sink {
	switch {
	case s.View != nil:
		v := *s.View
		v.When = s.Of.scoped(v.When)
		s.View = &v
	case s.Aggregate != nil:
		a := *s.Aggregate
		a.When = s.Of.scoped(a.When)
		s.Aggregate = &a
	case s.Search != nil:
		k := *s.Search
		k.When = s.Of.scoped(k.When)
		s.Search = &k
	}
	return s
}

func (s Sink) keepsState() bool { return s.View != nil || s.Aggregate != nil || s.Search != nil }

// takes reports whether the entities and the filters of a sink let a record through. If not, it returns the reason for
// the counters. The conditions of entities of a state sink are evaluated later, for each image.
func (s Sink) takes(r sinktest.Record) (reason string, is verdict) {
	switch {
	case s.keepsState():
		if !s.Of.hasKey(r.Keys) {
			return "of", missing
		}
	default:
		if is := s.Of.has(latest(r)); is != found {
			return "of", is
		}
	}
	return passes(s.Filters, r)
}

// writeOf writes the entities of a sink.
func writeOf(w func(string, ...any), s *Scope) {
	if s != nil {
		w("      of: %s", s.yaml())
	}
}

func writeEntities(w func(string, ...any), es []Entity) {
	if len(es) > 0 {
		w("entities:")
	}
	for _, e := range es {
		w("  %s: %s", e.Name, e.yaml())
	}
}

// ofYAML is `of: [A], ` in a detector.
func (s *Scope) ofYAML() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("of: %s, ", s.yaml())
}
