package entity

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Scope has the entities that a rule of the configuration is about, and the names that the rule can read. The nil Scope
// has no names.
type Scope struct {
	entities []*Entity
	bindings []*Binding
}

// Scope returns the scope of the entities with these names. It ignores unknown names.
func (s *Set) Scope(names ...string) *Scope {
	sc := &Scope{}
	for _, e := range s.All() {
		if slices.Contains(names, e.Name) {
			sc.entities = append(sc.entities, e)
		}
	}
	if len(sc.entities) == 0 {
		return sc
	}
	for _, name := range sc.entities[0].Names() {
		if b := sc.bind(name); b != nil {
			sc.bindings = append(sc.bindings, b)
		}
	}
	return sc
}

// bind returns the binding of a name. It returns nil if not all entities bind the name, or if one key could give the
// name two values.
func (sc *Scope) bind(name string) *Binding {
	b := &Binding{name: name}
	for _, e := range sc.entities {
		p, isBound := e.pieceOf(name)
		if !isBound || slices.ContainsFunc(b.pieces, p.contradicts) {
			return nil
		}
		b.pieces = append(b.pieces, p)
	}
	return b
}

// Entities returns the entities of the scope.
func (sc *Scope) Entities() []*Entity {
	if sc == nil {
		return nil
	}
	return sc.entities
}

// String returns the names of the entities as one text, such as "Order and Refund".
func (sc *Scope) String() string {
	var names []string
	for _, e := range sc.Entities() {
		names = append(names, e.Name)
	}
	return strings.Join(names, " and ")
}

// Bindings returns the names that every entity binds, in order.
func (sc *Scope) Bindings() []*Binding {
	if sc == nil {
		return nil
	}
	return sc.bindings
}

// Binding returns the binding of a name, or nil if there is none.
func (sc *Scope) Binding(name string) *Binding {
	for _, b := range sc.Bindings() {
		if b.name == name {
			return b
		}
	}
	return nil
}

// KeysOnly reports whether the key alone decides which items belong to the entities. It does if neither they nor their
// predecessors have a condition.
func (sc *Scope) KeysOnly() bool {
	hasCondition := func(e *Entity) bool { return e.When != nil }
	for _, e := range sc.Entities() {
		if hasCondition(e) || slices.ContainsFunc(e.predecessors, hasCondition) {
			return false
		}
	}
	return true
}

// MatchKey reports whether the patterns of one of the entities match the key of an item.
func (sc *Scope) MatchKey(m item.Image) bool {
	for _, e := range sc.Entities() {
		if e.MatchKey(m) {
			return true
		}
	}
	return false
}

// Match reports whether an item belongs to one of the entities. It returns false for an image that does not exist.
func (sc *Scope) Match(m item.Image) (bool, error) {
	if !m.Exists() {
		return false, nil
	}
	for _, e := range sc.Entities() {
		if is, err := e.Match(m); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// Unique returns the names that identify an item among the items of the scope. If the scope has one entity, these are
// the names in the entity's Unique. If it has several, Unique returns nil, because items of different entities could
// have equal values.
func (sc *Scope) Unique() []string {
	if len(sc.Entities()) != 1 {
		return nil
	}
	return sc.entities[0].Unique
}

// Binding is a name, with the part of the key that it binds in each entity of a scope. It is safe for concurrent use.
type Binding struct {
	name   string
	pieces []piece // one for each entity of the scope
}

// piece is the part of a key that a name binds in one entity.
type piece struct {
	entity    *Entity
	attribute string
	pattern   *Pattern
	nameIndex int // of the name in pattern
}

// pieceOf returns the part of the entity's key that a name binds. isBound is false if there is none.
func (e *Entity) pieceOf(name string) (p piece, isBound bool) {
	for _, k := range e.Key {
		if i := slices.Index(k.Pattern.names, name); i >= 0 {
			return piece{entity: e, attribute: k.Attribute, pattern: k.Pattern, nameIndex: i}, true
		}
	}
	return piece{}, false
}

// contradicts reports whether a key can match the entities of both pieces, and give the name a different value in each.
func (p *piece) contradicts(other piece) bool {
	bindsAlike := other.attribute == p.attribute && other.nameIndex == p.nameIndex && other.pattern.src == p.pattern.src
	return !bindsAlike && Compare(other.entity, p.entity).Overlap != Disjoint
}

// nextLiteral returns the fixed text that follows the name in the pattern.
func (p *piece) nextLiteral() string { return p.pattern.literals[p.nameIndex+1] }

// Name returns the name.
func (b *Binding) Name() string { return b.name }

// Attributes returns the key attributes whose patterns contain the name.
func (b *Binding) Attributes() []string {
	var names []string
	for _, p := range b.pieces {
		if !slices.Contains(names, p.attribute) {
			names = append(names, p.attribute)
		}
	}
	return names
}

// Value returns the value that the name binds in an item. An image m with only the key is enough. If the scope has
// several entities, and the patterns of none match the key, Value returns the absent value. If it has one entity, the
// key must match its patterns: Value does not check that again.
func (b *Binding) Value(m item.Image) item.Value {
	for i := range b.pieces {
		p := &b.pieces[i]
		hasOtherEntities := len(b.pieces) > 1
		if hasOtherEntities && !p.entity.MatchKey(m) {
			continue
		}
		v, _ := m.Get(p.attribute)
		return p.pattern.value(v, p.nameIndex)
	}
	return item.Value{}
}

// IsText reports whether the name always binds a text. It does if it is a part of a longer pattern in all entities.
// Otherwise it can bind a whole key attribute, which may be of another type.
func (b *Binding) IsText() bool {
	return !slices.ContainsFunc(b.pieces, func(p piece) bool { return p.pattern.BindsAll() })
}

// EndByte returns the byte that ends the text of the name, so that the text cannot contain it. The same single byte
// must follow the name in the patterns of all entities. Otherwise EndByte returns "".
func (b *Binding) EndByte() string {
	end := b.pieces[0].nextLiteral()
	if len(end) != 1 {
		return ""
	}
	for i := range b.pieces {
		if b.pieces[i].nextLiteral() != end {
			return ""
		}
	}
	return end
}
