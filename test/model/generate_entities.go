package model

import (
	"slices"

	"pgregory.net/rapid"
)

// entities draws the entities of a table: none, some without a common key, or two with common keys and their own
// conditions. The keys do not always keep the promise of `unique`.
func (g generator) entities() []Entity {
	if g.one(3) {
		return nil
	}
	when := func() *Condition {
		if g.one(3) {
			c := g.condition(1)
			return &c
		}
		return nil
	}
	whole := func(name string) Pattern { return Pattern{[]string{"", ""}, []string{name}} }
	after := func(text, name string) Pattern { return Pattern{[]string{text, ""}, []string{name}} }
	if !g.texts {
		return []Entity{{Name: "Thing", Key: map[string]Pattern{g.keys[0]: whole("Id")}, Unique: []string{"Id"}, When: when()}}
	}
	if g.one(3) {
		first, second := g.condition(1), g.condition(1)
		return []Entity{
			{Name: "User", Key: map[string]Pattern{"PK": after("u", "Id")}, When: &first},
			{Name: "Order", Key: map[string]Pattern{"PK": whole("Id")}, When: &second, Unique: []string{"Id"}},
		}
	}
	user := Entity{Name: "User", Key: map[string]Pattern{"PK": after("u", "Id")}, When: when()}
	order := Entity{Name: "Order", Key: map[string]Pattern{"PK": after("o", "Id"), "SK": whole("Name")}, When: when()}
	if g.one(3) { // the first # ends a name
		user.Key = map[string]Pattern{"PK": whole("Id"), "SK": {[]string{"u", "#", ""}, []string{"Name", "Number"}}}
		order.Key = map[string]Pattern{"PK": whole("Id"), "SK": after("o", "Name")}
	}
	user.Unique = pick(g, "unique", nil, []string{"Id"}, []string{"Id"})
	order.Unique = pick(g, "unique", nil, []string{"Id"}, []string{"Id"}, []string{"Id", "Name"}, []string{"Name"})
	return []Entity{user, order}
}

// scope draws some of the entities, or none.
func (g generator) scope() *Scope {
	if g.of == nil || g.one(3) {
		return nil
	}
	s := &Scope{All: g.of}
	names := [][]string{{g.of[0].Name}}
	if len(g.of) > 1 {
		names = append(names, []string{g.of[1].Name}, []string{g.of[1].Name}, []string{g.of[0].Name, g.of[1].Name})
	}
	s.Names = pick(g, "of", names...)
	return s
}

// mayFail reports whether a condition of an entity can fail.
func (s *Scope) mayFail() bool {
	return s != nil && slices.ContainsFunc(s.All, func(e Entity) bool { return e.When != nil && e.When.mayFail() })
}

// mayFail reports whether an image can spoil the condition.
func (c Condition) mayFail() bool {
	return c.Op == "<" || c.Op == ">" || slices.ContainsFunc(c.Inner, Condition.mayFail)
}

// about returns the generator of a sink about some entities. The sink can read the names that their keys bind.
func (g generator) about(s *Scope) generator {
	g.bound, g.unique = nil, nil
	if s == nil {
		return g
	}
	es := s.entities()
	if len(es) > 1 && len(es[0].Key) == 1 && len(es[1].Key) == 1 { // common keys, and a name with two meanings
		return g
	}
	names := []string{"Id"}
	if len(es) == 1 {
		g.unique = es[0].Unique
		for _, p := range es[0].Key {
			for _, name := range p.Names {
				if name != "Id" {
					names = append(names, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		g.bound = append(g.bound, &Binding{s, name})
	}
	return g
}

// binding returns the binding of a name.
func (g generator) binding(name string) *Binding {
	for _, b := range g.bound {
		if b.Name == name {
			return b
		}
	}
	panic("no binding of " + name)
}

// uniqueRows makes a view whose row keys have the names that are declared to identify the items.
func (g generator) uniqueRows(name string, v *View) {
	v.Unique = true
	if g.one(2) {
		v.When = nil
	}
	v.PK = Template{literal(name + "!"), {Bound: g.binding(g.unique[0])}}
	v.SK = Template{literal("ROW")}
	switch {
	case len(g.unique) > 1:
		v.SK = Template{{Bound: g.binding(g.unique[1])}}
	case g.one(3):
		v.Shards = pick(g, "shards", 1, 2)
		v.PK, v.SK = Template{literal(name + "!"), {Shards: v.Shards}}, Template{{Bound: g.binding(g.unique[0])}}
	}
	v.Collision = pick(g, "collision", "", "dead_letter")
	v.InPlace = g.one(2)
}

// boundCondition draws a condition on a bound name.
func (g generator) boundCondition() Condition {
	b := rapid.SampledFrom(g.bound).Draw(g.T, "name")
	return Condition{Op: pick(g, "op", "==", "!=", "in"), Bound: b, Texts: []string{pick(g, "text", "1", "#2", ",1", "~0", "u1", "%")}}
}

// UniqueConfigs generates configurations of one view for a table with the first of [Schemas]. The row keys of the
// view have a name that several items share.
func UniqueConfigs() *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		g := generator{T: t, keys: []string{"PK", "SK"}, texts: true}
		order := Entity{Name: "Order", Unique: []string{"Id"}, Key: map[string]Pattern{
			"PK": {[]string{"", ""}, []string{"Id"}}, "SK": {[]string{"", ""}, []string{"Name"}},
		}}
		g.of = []Entity{order}
		s := Sink{Name: "s", Of: &Scope{All: g.of, Names: []string{"Order"}}}
		g = g.about(s.Of)
		s.View = &View{Table: "rows", When: g.when(), Attributes: g.columns()}
		g.uniqueRows("s", s.View)
		return Config{Name: "model", Entities: g.of, Sinks: []Sink{s}}
	})
}
