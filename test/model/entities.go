package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Entity is a kind of items. The key of such an item matches the patterns, and the item meets When.
type Entity struct {
	Name   string
	Key    map[string]Pattern // by key attribute
	Unique []string           // bound names that together identify an item, as the configuration declares
	When   *Condition
}

// Pattern is the pattern of a key attribute: fixed texts with names between them. It has one text more than names.
type Pattern struct{ Texts, Names []string }

// String returns the pattern as it is written in the configuration.
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

// bind returns the values of the names in the key of an item. It returns false if the key does not match the patterns.
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

// yaml returns the entity as it is written in the configuration.
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

// Scope selects entities of a configuration by their names. A nil Scope selects every item.
type Scope struct {
	All   []Entity
	Names []string
}

func (s *Scope) yaml() string { return "[" + strings.Join(s.Names, ", ") + "]" }

// entities returns the entities that the scope names.
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

// has reports whether an item belongs to one of the entities in the scope. An item belongs to the first entity whose
// key and condition match.
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

// is reports whether an item belongs to the entity e. It does not if it belongs to an earlier entity.
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

// latest returns the image of a record that decides the entity of its item: the new one, or the old one of a removal.
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

// scoped returns the condition of a state sink: the item belongs to the scope, and then meets when.
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

// scoped returns the sink with conditions that include its entities.
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

// writeOf writes the key `of` of a sink.
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

// ofYAML returns the key `of` of a detector, as in `of: [A], `.
func (s *Scope) ofYAML() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("of: %s, ", s.yaml())
}
