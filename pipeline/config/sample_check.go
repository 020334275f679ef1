package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/item"
)

// CheckSample checks the names of attributes in the file against a sample of the table's items. It returns a warning
// for each name that no item of the sample has, and for each entity without items in the sample. It also warns of
// templates without placeholders whose text is the name of an attribute. It does not repeat the problems in Warnings.
// cfg must come from [Parse], [ParseFrom] or [Load].
func (cfg *Config) CheckSample(items []item.Image) Problems {
	c := cfg.checker
	before := len(c.Warnings)
	sample := sampleShapesOf(cfg.entities, items)
	for i := range cfg.Entities {
		e := &cfg.Entities[i]
		c.WarnIf(sample.byEntity[e.Name] == nil, e, "correct its pattern, or give a sample that has one",
			"no item of the sample is of %s", e.Name)
	}
	c.checkNamesInSample(sample)
	c.checkTTLInSample(sample)
	c.checkConstants(sample.ofScope)
	prefixes := keyPrefixes(c.ValueOf(&cfg.Filters))
	for _, s := range c.sinks {
		prefixes = append(prefixes, keyPrefixes(c.ValueOf(&s.Filters))...)
	}
	for _, prefix := range prefixes {
		c.checkKeyPrefix(prefix, items)
	}

	found := slices.Clone(c.Warnings[before:])
	c.Warnings = c.Warnings[:before]
	found.Sort()
	return found
}

// checkNamesInSample warns once of each name of an attribute that no item of the sample has.
func (c *checker) checkNamesInSample(sample sampleShapes) {
	warned := make(map[string]bool)
	for _, part := range c.readParts() {
		n := newNameCheck(c, part.scope, sample.ofScope(part.scope))
		for _, r := range n.undeclaredReads(part) {
			name := part.scope.String() + "\x00" + r.id()
			if warned[name] || c.undeclared[r.value] {
				continue
			}
			warned[name] = true
			message, hint := notInSample(r.Undeclared, part.scope)
			c.WarnWithin(r.value, r.line, r.column, message, hint)
		}
	}
}

// checkTTLInSample warns if no item of the sample has the TTL attribute.
func (c *checker) checkTTLInSample(sample sampleShapes) {
	ttl, shapes := c.cfg.Source.TTLAttribute, sample.ofScope(nil)
	if ttl == "" || shapes == nil || entity.FirstUndeclared(shapes, attributeSegment(ttl)) == nil {
		return
	}
	message, hint := notInSample(&entity.Undeclared{Name: ttl, Known: shapes[0].Names()}, nil)
	c.Warn(&c.cfg.Source.TTLAttribute, hint, "%s", message)
}

// checkKeyPrefix warns if no item of the sample has a key that begins with a prefix. v.Name is the key attribute, and
// v.Text() is the prefix.
func (c *checker) checkKeyPrefix(v *value, items []item.Image) {
	hasPrefix := func(m item.Image) bool {
		attribute, _ := m.Get(v.Name)
		text, ok := attribute.Text()
		return ok && strings.HasPrefix(text, v.Text())
	}
	if v.Text() == "" || slices.ContainsFunc(items, hasPrefix) {
		return
	}
	hint := "correct it, or give a sample that has one"
	known, isPossible := c.keyTexts(v.Name, v.Text())
	if !isPossible && len(known) > 0 {
		hint = "keys of entities begin with " + yamlbind.Enumerate(known, "and")
	}
	c.Warn(v, hint, "no %s of the sample begins with %s", v.Name, yamlbind.Quoted(v.Text()))
}

// keyTexts returns the quoted texts with which the patterns of a key attribute begin. possible reports whether a key of
// one of the patterns can begin with prefix.
func (c *checker) keyTexts(attribute, prefix string) (texts []string, possible bool) {
	for i := range c.cfg.Entities {
		for _, k := range c.cfg.Entities[i].Key {
			if k.Attribute != attribute {
				continue
			}
			text, isWhole := k.Pattern.Prefix()
			matchesLongerKeys := !isWhole && strings.HasPrefix(prefix, text)
			if matchesLongerKeys || strings.HasPrefix(text, prefix) {
				possible = true
			}
			if quoted := yamlbind.Quoted(text); text != "" && !slices.Contains(texts, quoted) {
				texts = append(texts, quoted)
			}
		}
	}
	return texts, possible
}

// sampleShapes has the shapes of a sample's items. A shape has attributes with their types.
type sampleShapes struct {
	all      *entity.Shape            // shape that all items have together; nil if there are no items
	byEntity map[string]*entity.Shape // by the name of the entity
}

// sampleShapesOf returns the shapes of the items. entities may be nil.
func sampleShapesOf(entities *entity.Set, items []item.Image) sampleShapes {
	byEntity := make(map[string][]item.Image)
	for _, m := range items {
		if e, err := entities.Of(m); e != nil && err == nil {
			byEntity[e.Name] = append(byEntity[e.Name], m)
		}
	}
	s := sampleShapes{byEntity: make(map[string]*entity.Shape)}
	for name, found := range byEntity {
		s.byEntity[name] = sampleShape(found)
	}
	if len(items) > 0 {
		s.all = sampleShape(items)
	}
	return s
}

// sampleShape returns the shape that the items have together.
func sampleShape(items []item.Image) *entity.Shape {
	var sampled entity.Sampled
	for _, m := range items {
		sampled.Add(m.Value())
	}
	return sampled.Shape()
}

// ofScope returns the shapes of the items of a scope, one for each entity of the scope. For a nil scope it returns the
// shape that all items have together. It returns nil if the sample has no items of one of the entities.
func (s sampleShapes) ofScope(sc *entity.Scope) []*entity.Shape {
	if sc == nil && s.all != nil {
		return []*entity.Shape{s.all}
	}
	var shapes []*entity.Shape
	for _, e := range sc.Entities() {
		if s.byEntity[e.Name] == nil {
			return nil
		}
		shapes = append(shapes, s.byEntity[e.Name])
	}
	return shapes
}

// notInSample returns the message and the hint for a name that no item of a sample has.
func notInSample(u *entity.Undeclared, sc *entity.Scope) (message, hint string) {
	items := "item"
	if sc != nil {
		items = sc.String()
	}
	name := yamlbind.Quoted(u.Name)
	switch {
	case u.Name == "":
		message = fmt.Sprintf("%s of each %s of the sample is of type %s, and has no such elements", u.Path, items, u.Kind)
	case u.Path != "":
		message = fmt.Sprintf("no %s of the sample has %s in %s", items, name, u.Path)
	default:
		message = fmt.Sprintf("no %s of the sample has %s", items, name)
	}
	if near := nearest.Name(u.Name, u.Known); near != "" {
		return message, "did you mean " + near + "?"
	}
	return message, "correct the name, unless it is that of a rare attribute"
}
