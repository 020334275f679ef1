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
	c.checkConstants(sample.shapesOf)
	c.checkKeyPrefixes(c.ValueOf(&cfg.Filters), items)
	for _, s := range c.sinks {
		c.checkKeyPrefixes(c.ValueOf(&s.Filters), items)
	}

	found := slices.Clone(c.Warnings[before:])
	c.Warnings = c.Warnings[:before]
	found.Sort()
	return found
}

// checkNamesInSample warns once of each name of an attribute that no item of the sample has.
func (c *checker) checkNamesInSample(sample sampleShapes) {
	warned := make(map[string]bool)
	c.checkAllParts(func(sc *entity.Scope) *nameCheck {
		report := func(v *value, line, column int, u *entity.Undeclared) {
			name := sc.String() + "\x00" + u.Path + "\x00" + u.Name
			if warned[name] || c.undeclared[v] {
				return
			}
			warned[name] = true
			message, hint := notInSample(u, sc)
			c.WarnWithin(v, line, column, message, hint)
		}
		return &nameCheck{c: c, shapes: sample.shapesOf(sc), scope: sc, report: report}
	})
}

// checkTTLInSample warns if no item of the sample has the TTL attribute.
func (c *checker) checkTTLInSample(sample sampleShapes) {
	ttl := c.cfg.Source.TTLAttribute
	if ttl == "" || sample.anyItem == nil {
		return
	}
	path := []item.Segment{{Name: ttl, Index: -1}}
	if isInSample := entity.Find([]*entity.Shape{sample.anyItem}, path) == nil; isInSample {
		return
	}
	message, hint := notInSample(&entity.Undeclared{Name: ttl, Known: sample.anyItem.Names()}, nil)
	c.Warn(&c.cfg.Source.TTLAttribute, hint, "%s", message)
}

// checkKeyPrefixes warns of each key_prefix inside v, a list of filters, with which no key of the sample begins.
func (c *checker) checkKeyPrefixes(v *value, items []item.Image) {
	for _, e := range v.All() {
		if e.Name != "key_prefix" {
			c.checkKeyPrefixes(e, items)
			continue
		}
		for _, prefix := range e.All() {
			c.checkKeyPrefix(prefix, items)
		}
	}
}

// checkKeyPrefix warns of a key prefix. Its name is that of the key attribute.
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
			possible = possible || matchesLongerKeys || strings.HasPrefix(text, prefix)
			if quoted := yamlbind.Quoted(text); text != "" && !slices.Contains(texts, quoted) {
				texts = append(texts, quoted)
			}
		}
	}
	return texts, possible
}

// sampleShapes has the shapes of a sample's items: their attributes with types. byEntity has the shape for the name of
// each entity.
type sampleShapes struct {
	anyItem  *entity.Shape // shape that all items have together; nil if the sample is empty
	byEntity map[string]*entity.Shape
}

// sampleShapesOf returns the shapes of the items. entities may be nil.
func sampleShapesOf(entities *entity.Set, items []item.Image) sampleShapes {
	s := sampleShapes{byEntity: make(map[string]*entity.Shape)}
	var all entity.Sampled
	byEntity := make(map[string]*entity.Sampled)
	for _, m := range items {
		all.Add(m.Value())
		e, err := entities.Of(m)
		if e == nil || err != nil {
			continue
		}
		if byEntity[e.Name] == nil {
			byEntity[e.Name] = &entity.Sampled{}
		}
		byEntity[e.Name].Add(m.Value())
	}
	if len(items) > 0 {
		s.anyItem = all.Shape()
	}
	for name, sampled := range byEntity {
		s.byEntity[name] = sampled.Shape()
	}
	return s
}

// shapesOf returns the shapes of the items of a scope, one for each entity of the scope. For a nil scope it returns the
// shape of all items. It returns nil if the sample has no items of one of the entities.
func (s sampleShapes) shapesOf(sc *entity.Scope) []*entity.Shape {
	if sc == nil && s.anyItem != nil {
		return []*entity.Shape{s.anyItem}
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
