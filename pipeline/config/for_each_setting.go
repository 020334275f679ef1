package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// ForEach names a list, set or map. The sink writes one entry, such as a row or a document, for each of its elements.
type ForEach struct {
	_    any    `ref:"for_each"`
	_    string `key:"=" is:"elements"`
	Path string `key:"path,required" form:"PATH" is:"elements" doc:"List, set or map whose elements have an entry each."`
	By   string `key:"by" is:"path" doc:"Path inside an element of what identifies it. Default: its position in a list, its value in a set, its name in a map."`
	Max  int    `key:"max,late" max:"5000" def:"500" doc:"The most elements that an item may have."` // 0: the default
}

// Spec returns the specification of the elements, or nil if there is no for_each.
func (e *ForEach) Spec() *elements.Spec {
	if e == nil {
		return nil
	}
	p, err := item.ParsePath(e.Path)
	if err != nil {
		return nil // yamlbind has reported it
	}
	return &elements.Spec{Path: p, By: e.By, Max: e.Max}
}

// setPath sets the path if the file has the short form, for_each: PATH.
func (e *ForEach) setPath(v *value) {
	if e != nil && v != nil && v.Rule.Shape == yamlbind.ScalarShape {
		e.Path = v.Source
	}
}

// readElements reads the path of elements. It marks the sink, so that its other keys may read the elements.
func readElements(f *yamlbind.File, v *yamlbind.Value, parts []yamlbind.Part) any {
	sinkField := objectPath(v.Field, ".for_each")
	yamlbind.Context[*checker](f).hasForEach[sinkField] = true
	if list, all := strings.CutSuffix(v.Source, "[*]"); all {
		f.Fail(v, "write "+list, "for_each names the list itself, and means all its elements")
		return nil
	}
	return pathReader(item.ParsePath)(f, v, parts)
}

// isInForEach reports whether a field is inside a sink with for_each.
func (c *checker) isInForEach(field string) bool {
	for parent := field; parent != ""; parent = parentField(parent) {
		if c.hasForEach[parent] {
			return true
		}
	}
	return false
}

// checkForEach checks a view with for_each: the key of each row must identify the item and the element. It refuses
// configuration keys that only make sense with one row for each item.
func (c *checker) checkForEach(s *Sink) {
	v := s.View
	if v.ForEach == nil {
		return
	}
	c.checkCollection(&v.ForEach, s.Scope)
	c.FailIf(c.Has(&v.InPlace) && v.InPlace, &v.InPlace, "remove it",
		"with for_each the item guards its rows, and they leave no tombstones")
	c.FailIf(c.Has(&v.Collision), &v.Collision, "remove it", "with for_each each row belongs to one item")
	c.checkElementKey(s)
}

// checkElementKey checks that the key of a row identifies the element and the item.
func (c *checker) checkElementKey(s *Sink) {
	v := s.View
	key := c.ValueOf(&v.Key)
	if !c.hasAllEntries(key, len(v.Key)) {
		return // yamlbind has reported it
	}
	identifiesElement := slices.ContainsFunc(v.Key, func(col Column) bool { return col.Template.HasIdentity() })
	if !identifiesElement {
		c.Fail(key, "put {@each} into it, as in '{@key}#{@each}'",
			"with for_each the key of a row must identify its element, by an {@each} whose end is certain")
		return
	}
	isReported := c.namesBrokenEntity(s) || c.hasWrongUnique(s.Scope) // a problem says why the item is not identified
	if !isReported && !v.keyMayIdentifyItem() {
		c.Fail(key,
			"put {@key} into it, as in '{@key}#{@each}'; or all key attributes with |esc, or the names that `unique` of the entity says, where their ends are certain", "with for_each the key of a row must identify its item")
	}
}

// checkElementDocuments checks a search sink with for_each, where each element has a document.
func (c *checker) checkElementDocuments(sink *Sink) {
	s := sink.Search
	if s.ForEach == nil {
		return
	}
	c.checkCollection(&s.ForEach, sink.Scope)
	if p, err := item.ParsePath(s.ForEach.Path); err == nil {
		// In each document the element replaces its whole list, set or map. Inside a list there is no place for that.
		_, hasNamesOnly := p.Names()
		c.FailIf(!hasNamesOnly, c.elementsAt(&s.ForEach), "name attributes of maps",
			"%s is inside a list, and the element of a document is in place of all of it", s.ForEach.Path)
	}
	c.refuseElement(&s.Index)
	c.refuseElement(&s.Routing)
}

// refuseElement refuses a template that reads an element of for_each.
func (c *checker) refuseElement(field **template.Template) {
	t := *field
	readsElement := t != nil && (len(t.EachPaths()) > 0 || t.ReadsIdentity())
	c.FailIf(readsElement, field, "make it of the item",
		"it reads the element, and the documents of an item are in one place")
}

// checkCollection checks that the value at the path of a for_each has elements. It checks only paths whose type is
// declared.
func (c *checker) checkCollection(field **ForEach, scope *entity.Scope) {
	e, path := *field, c.elementsAt(field)
	if _, err := item.ParsePath(e.Path); err != nil {
		return // yamlbind has reported it
	}
	const hint = "name a list, a set or a map"
	attribute, isTopLevel := topLevelAttribute(e.Path)
	if kind := c.cfg.Attributes[attribute]; isTopLevel && kind != item.Absent {
		isSet := slices.Contains([]item.Kind{item.KindSS, item.KindNS, item.KindBS}, kind)
		isOtherAllowed := slices.Contains([]item.Kind{item.KindL, item.KindM, item.KindNULL}, kind) // a NULL has no elements
		c.FailIf(!isSet && !isOtherAllowed, path, hint, "%s is declared %s", e.Path, kind)
		c.FailIf(isSet && e.By != "", &e.By, "remove it", "the elements of a set are their own identity")
		return
	}
	shapes := c.scopeShapes(scope)
	pattern, err := item.ParsePattern(e.Path)
	if shapes == nil || err != nil {
		return
	}
	isDeclared := entity.FirstUndeclared(shapes, pattern.Segments()) == nil // otherwise another rule reports the path
	c.FailIf(isDeclared && elementsOf(shapes, e.Path) == "", path, hint, "%s has no elements, as %s declares it", e.Path,
		scope)
}

// elementsAt returns the value in the file that has the path of a for_each.
func (c *checker) elementsAt(e **ForEach) *value {
	v := c.ValueOf(e)
	return cmp.Or(v.Get("path"), v)
}

// elementsOf returns the pattern of the elements at a path. The pattern is path[*] if the shapes declare a list or a
// set, and path.* if they declare a map. It is "" if the path has no elements.
func elementsOf(shapes []*entity.Shape, path string) string {
	for _, pattern := range []string{path + "[*]", path + ".*"} {
		if p, err := item.ParsePattern(pattern); err == nil && entity.FirstUndeclared(shapes, p.Segments()) == nil {
			return pattern
		}
	}
	return ""
}
