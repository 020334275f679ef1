package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Entity is one entry of `entities`: a kind of item that is recognised by its key. Keys are read in the order of these
// fields, because When needs Key and Attributes.
type Entity struct {
	Name string `key:"*" is:"name"`
	Line int    `key:"@"`

	Key        []KeyPattern `key:"key,required" form:"{PK: 'ORDER#{OrderId}', SK: META}" doc:"Pattern of each key attribute, as in 'ORDER#{Date}#{OrderId}'. It binds names."`
	Unique     []string     `key:"unique,single" doc:"Bound names that identify an item of the entity: a row whose key has them guards itself."`
	Attributes Shapes       `key:"attributes" doc:"Types of the attributes with depth, as {Status: S, Lines: [{sku: S, qty: N}]}: makes a name that is not among them an error."`
	When       *expr.Item   `key:"when" doc:"Also required of the item, in CEL over item and the bound names. Default: the key decides."`
}

// KeyPattern is the pattern of a key attribute.
type KeyPattern struct {
	Attribute string          `key:"*"`
	Pattern   *entity.Pattern `key:"="`
}

// TableKey returns the names of the source table's two key attributes if the entities declare both. It returns nil if
// the file has several tables. It also returns nil if the entities declare only one name, because the table may have a
// sort key that no entity names.
func (cfg *Config) TableKey() []string {
	if len(cfg.Source.Tables) > 1 {
		return nil
	}
	var names []string
	for i := range cfg.Entities {
		for _, k := range cfg.Entities[i].Key {
			if !slices.Contains(names, k.Attribute) {
				names = append(names, k.Attribute)
			}
		}
	}
	if len(names) != maxKeyAttributes {
		return nil
	}
	return names
}

// EntitySet returns the entities of the file. It returns nil if the file has none.
func (cfg *Config) EntitySet() *entity.Set { return cfg.entities }

// ScopeOf returns the scope of the entity with this name: its items and the names that its keys bind. The error for an
// unknown name suggests the nearest known name.
func (cfg *Config) ScopeOf(name string) (*entity.Scope, error) {
	if cfg.entities.Named(name) == nil {
		known := textsOf(cfg.Entities, func(e Entity) string { return e.Name })
		return nil, fmt.Errorf("no entity is named %s: %s", yamlbind.Quoted(name), yamlbind.Hint(name, known, "entities has"))
	}
	return cfg.entities.Scope(name), nil
}

// toEntity converts e to an [entity.Entity].
func (e *Entity) toEntity() *entity.Entity {
	converted := &entity.Entity{Name: e.Name, Unique: e.Unique, Attributes: e.Attributes.shape}
	for _, k := range e.Key {
		if k.Pattern != nil {
			converted.Key = append(converted.Key, entity.KeyPattern(k))
		}
	}
	if e.When != nil {
		converted.When = e.When
	}
	return converted
}

// Shapes has the declared attributes of an entity, with their types.
type Shapes struct {
	shape   *entity.Shape // nil if no attributes are declared: then all names are allowed
	invalid bool          // reading reported a problem
}

// shapeKinds are the types that a shape can name.
var shapeKinds = []item.Kind{
	item.KindS, item.KindN, item.KindB, item.KindBOOL, item.KindNULL, item.KindM, item.KindL, item.KindSS, item.KindNS,
	item.KindBS,
}

// shapeKindNames are the names of shapeKinds, in the same order.
var shapeKindNames = textsOf(shapeKinds, item.Kind.String)

// Schema implements [yamlbind.SchemaMaker].
func (*Shapes) Schema() (ref string, schema map[string]any) {
	self := map[string]any{"$ref": "#/$defs/shape"}
	return "shape", map[string]any{"anyOf": []any{
		map[string]any{"enum": shapeKindNames},
		map[string]any{"type": "array", "minItems": 1, "maxItems": 1, "items": self},
		map[string]any{"type": "object", "minProperties": 1, "additionalProperties": self},
	}}
}

// Bind reads the shapes.
func (s *Shapes) Bind(f *yamlbind.File, v *value) {
	before := len(f.Problems)
	shape := readShape(f, v)
	s.invalid = len(f.Problems) > before
	if shape != nil && shape.Members == nil {
		f.Fail(v, "write {Status: S, Total: N}", "wants the attributes of an item with their types")
		return
	}
	s.shape = shape
	v.Data = *s
}

// readShape reads a type, a list of one type, or a mapping of types. It returns nil if v itself is wrong. An invalid
// member of a mapping is left out of the shape.
func readShape(f *yamlbind.File, v *value) *entity.Shape {
	if !f.FollowAlias(v) {
		return nil
	}
	switch v.Node.Kind {
	case yaml.MappingNode:
		s := &entity.Shape{Kind: item.KindM}
		for _, m := range f.Members(v) {
			if inside := readShape(f, m); inside != nil {
				s.Members = append(s.Members, entity.Member{Name: m.Name, Shape: inside})
			}
		}
		f.FailIf(len(v.Node.Content) == 0, v, "write M for a map of anything", "is empty")
		return s
	case yaml.SequenceNode:
		elements := f.Elements(v)
		if len(elements) != 1 {
			f.Fail(v, "write one type for all elements, as in [{sku: S, qty: N}], or L for a list of anything", "has %d types",
				len(elements))
			return nil
		}
		return &entity.Shape{Kind: item.KindL, Elem: readShape(f, elements[0])}
	}
	i := slices.Index(shapeKindNames, v.Node.Value)
	if i < 0 {
		f.Fail(v, yamlbind.Hint(v.Node.Value, shapeKindNames, "types are"), "%s is not a type of an attribute",
			yamlbind.Quoted(v.Node.Value))
		return nil
	}
	return &entity.Shape{Kind: shapeKinds[i]}
}

// readPattern reads the pattern of a key attribute.
func readPattern(f *yamlbind.File, v *yamlbind.Value, _ []yamlbind.Part) any {
	p, err := entity.ParsePattern(v.Source)
	if err == nil {
		return p
	}
	if e, ok := errors.AsType[*entity.Error](err); ok {
		f.FailWithin(v, 1, e.Column, e.Message, e.Hint)
	}
	return nil
}

// readEntityName reads the name of an entity under `of`, and records that the keys beside `of` use this entity.
func readEntityName(f *yamlbind.File, v *yamlbind.Value, _ []yamlbind.Part) any {
	c := yamlbind.Context[*checker](f)
	names := textsOf(c.cfg.Entities, func(e Entity) string { return e.Name })
	object := objectPath(v.Field, ".of[")
	isKnown := slices.Contains(names, v.Source)
	if !isKnown {
		c.wrongOfFields[object] = true
	}
	switch {
	case len(names) == 0:
		f.Fail(v, fmt.Sprintf("add entities: {%s: {key: {PK: 'PATTERN'}}} at the top", v.Source), "the file has no entities")
	case strings.Contains(v.Source, ","): // even if an entity has this name
		f.Fail(v, "write ["+v.Source+"]", "several entities are a list")
	case !isKnown:
		f.Fail(v, yamlbind.Hint(v.Source, names, "entities has"), "no entity is named %s", yamlbind.Quoted(v.Source))
	case slices.Contains(c.ofNames[object], v.Source):
		f.Fail(v, "remove one of them", "%s occurs twice", yamlbind.Quoted(v.Source))
	default:
		c.ofNames[object] = append(c.ofNames[object], v.Source)
		return v.Source
	}
	return nil
}

// objectPath returns the field of the object that contains field: everything before the last occurrence of rest. An
// example of rest is ".of[".
func objectPath(field, rest string) string { return field[:strings.LastIndex(field, rest)] }

// parentField returns the field around field, or "" if there is none.
func parentField(field string) string { return field[:max(0, strings.LastIndexAny(field, ".["))] }

// entitySet returns the entities, or nil if there are none. The first call builds the set. By then all entities are
// read, because the keys that use entities come after `entities`.
func (c *checker) entitySet() *entity.Set {
	if c.cfg.entities == nil && len(c.cfg.Entities) > 0 {
		var entities []*entity.Entity
		for i := range c.cfg.Entities {
			entities = append(entities, c.cfg.Entities[i].toEntity())
		}
		c.cfg.entities = entity.NewSet(entities...)
	}
	return c.cfg.entities
}

// scopeAt returns the entities of the nearest `of`, in the object of the field or in an enclosing object. It returns
// nil if there is no `of`. Then the field applies to all items.
func (c *checker) scopeAt(field string) *entity.Scope {
	for parent := field; parent != ""; parent = parentField(parent) {
		if names := c.ofNames[parent]; len(names) > 0 {
			return c.entitySet().Scope(names...)
		}
	}
	if strings.HasPrefix(field, "entities.") && len(c.cfg.Entities) > 0 {
		// A condition inside `entities` belongs to the entity that was just read.
		e := c.cfg.Entities[len(c.cfg.Entities)-1].toEntity()
		return entity.NewSet(e).Scope(e.Name)
	}
	return nil
}
