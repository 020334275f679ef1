package config

import (
	"cmp"
	"slices"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// scopeOf returns the scope of a sink's `of`, or nil. A notify sink without `of` gets the scope of the entities that
// its events are limited to. If an event is not limited to entities, the scope is nil.
func (c *checker) scopeOf(s *Sink) *entity.Scope {
	if s.Scope != nil {
		return s.Scope
	}
	if names := c.cfg.EventEntities(s); len(names) > 0 {
		return c.entitySet().Scope(names...)
	}
	return nil
}

// EventEntities returns the names of the entities whose items can raise a notify sink's events. It returns nil for
// other sinks. It also returns nil if one of the events is not limited to entities.
func (cfg *Config) EventEntities(s *Sink) []string {
	if s.Notify == nil {
		return nil
	}
	var names []string
	for _, event := range s.Notify.Events {
		i := slices.IndexFunc(cfg.Detectors, func(d Detector) bool { return d.Name == event })
		if i < 0 || len(cfg.Detectors[i].Entities) == 0 {
			return nil
		}
		names = append(names, cfg.Detectors[i].Entities...)
	}
	return names
}

// bindAttributes resolves the attributes of a notify sink's events. An attribute is a path, a path that is written as
// item.PATH, or a name that keys bind. For example, the key pattern 'ORDER#{OrderId}' binds the name OrderId.
func (c *checker) bindAttributes(s *Sink) {
	sc := c.scopeOf(s)
	if sc == nil {
		return
	}
	s.Notify.Attributes = nil
	for _, v := range c.ValueOf(&s.Notify.Attributes).All() {
		if binding := sc.Binding(v.Source); binding != nil {
			s.Notify.Bound = append(s.Notify.Bound, binding)
		} else if path, ok := c.unboundPath(v, sc); ok {
			s.Notify.Attributes = append(s.Notify.Attributes, path)
		}
	}
}

// unboundPath returns the path that v means if v is not a name that all entities of the scope bind. ok is false if a
// problem was reported.
func (c *checker) unboundPath(v *value, sc *entity.Scope) (path item.Path, ok bool) {
	bound, unbound := splitByName(sc, v.Source)
	isBoundBySome := len(bound) > 0 && len(unbound) > 0
	if isBoundBySome && c.scopeShapes(sc) == nil { // checkNames reports it if the entities declare their attributes
		c.Fail(v, "write a sink for the events of each", "the key of %s binds %s, and that of %s does not",
			yamlbind.Enumerate(bound, "and"), v.Source, yamlbind.Enumerate(unbound, "and"))
		return item.Path{}, false
	}
	path, ok = v.Data.(item.Path)
	if pathInItem, err := item.ParsePath(itemPath(v.Source)); err == nil { // item.PATH
		path = pathInItem
	}
	return path, ok
}

// splitByName splits the entities of a scope. bound has the names of the entities whose keys bind the name, and unbound
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

// bindValues resolves the values of an aggregate. The operand of a value is a path, a path that is written as
// item.PATH, or a name that keys bind.
func (c *checker) bindValues(s *Sink) {
	if s.Scope == nil {
		return
	}
	fields := c.ValueOf(&s.Aggregate.Values)
	for i := range s.Aggregate.Values {
		v := &s.Aggregate.Values[i]
		if v.Kind == "count" || v.Each {
			continue
		}
		v.Bound = s.Scope.Binding(v.Path)
		if v.Bound == nil {
			v.Path = cmp.Or(itemPath(v.Path), v.Path)
			continue
		}
		c.FailIf(v.Kind == "sum" && v.Bound.IsText(), fields.Get(v.Name), "sum an attribute, or count the distinct texts",
			"%s is a part of a key, which is text", v.Path)
	}
}

// itemPath returns PATH for item.PATH. It returns "" for any other text.
func itemPath(text string) string {
	path, _ := item.CutItem(text)
	return path
}
