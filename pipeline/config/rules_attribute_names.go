package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// nameCheck checks the names of attributes that one part of the file reads. For example, a sink is a part.
type nameCheck struct {
	c           *checker
	shapes      []*entity.Shape // shapes that the items can have; nil if they can have any attributes
	scope       *entity.Scope   // entities that the part uses; nil for any item
	forEach     string          // path of the list whose elements are {each}; "" if there is none
	eachPattern string          // pattern of the elements {each}; "" if there are none, or if they are unknown

	// report reports u, the first part of a path that the shapes do not have. line and column are the position of the
	// path in the expression v. They are 0 if v is no expression.
	report func(v *value, line, column int, u *entity.Undeclared)
}

// checkNames checks the names of attributes in each part of the file if the file declares attributes for the part. A
// name that is not declared is an error if the part has an `of` whose entities all declare their attributes. In other
// parts it is a warning, because an item without an entity can have other attributes.
func (c *checker) checkNames() {
	warned := make(map[string]bool)
	c.checkAllParts(func(sc *entity.Scope) *nameCheck {
		n := &nameCheck{c: c, shapes: c.shapesOf(sc), scope: sc}
		areComplete := n.shapes != nil
		if !areComplete {
			n.shapes = c.knownShapes(sc)
		}
		n.report = func(v *value, line, column int, u *entity.Undeclared) {
			if u.Path == "" && c.failMissingBracesIn(sc, u.Name) {
				return
			}
			if areComplete {
				message, hint := c.undeclaredInScope(u, sc)
				c.FailWithin(v, line, column, message, n.refineHint(v, u, hint))
				c.undeclared[v] = true
				return
			}
			name := u.Path + "\x00" + u.Name
			if warned[name] {
				return
			}
			warned[name] = true
			message, hint := c.undeclaredMessage(u)
			c.WarnWithin(v, line, column, message, n.refineHint(v, u, hint))
			c.undeclared[v] = true
		}
		return n
	})
	c.checkTTLName()
}

// checkAllParts checks every part of the file that reads attributes: filters, `sensitive`, sinks and detectors.
// newCheck returns the check for a part that reads the items of a scope.
func (c *checker) checkAllParts(newCheck func(*entity.Scope) *nameCheck) {
	for _, field := range []any{&c.cfg.Filters, &c.cfg.Sensitive} {
		if v := c.ValueOf(field); v != nil {
			newCheck(nil).check(v, nil)
		}
	}
	for _, s := range c.sinks {
		v := c.ValueOf(s)
		if hasOneKind := len(v.All()) == 1; hasOneKind && !c.hasBrokenOf(s) {
			kind := v.Entries[0]
			newCheck(c.scopeOf(s)).check(kind, kind.Get("for_each"))
		}
	}
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		if !c.isBrokenAt(d.Field) {
			newCheck(c.scopeAt(d.Field)).check(d, nil)
		}
	}
}

// knownShapes returns the shapes that the whole file declares. It is used for a scope if not all of the scope's
// entities declare their attributes. It returns nil if the file does not declare enough to check names.
func (c *checker) knownShapes(sc *entity.Scope) []*entity.Shape {
	if !c.declaresEnough(sc) || c.hasBrokenEntity() {
		return nil
	}
	entities := c.entitySet().All()
	top := &entity.Shape{Kind: item.KindM, Members: []entity.Member{}} // not nil, because nil allows any members
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Attributes)) {
		addMissing(top, name, c.cfg.Attributes[name])
	}
	if len(entities) == 0 { // without entities, only key_prefix names the key attributes
		for _, prefix := range keyPrefixes(c.ValueOf(&c.cfg.Filters)) {
			addMissing(top, prefix.Name, item.KindS)
		}
	}
	addMissing(top, c.cfg.Source.TTLAttribute, item.KindN)
	shapes := []*entity.Shape{top}
	for _, e := range entities {
		shapes = append(shapes, c.shapeOf(e))
	}
	return shapes
}

// declaresEnough reports whether the file declares so much that an undeclared name in a scope is probably wrong. It
// does if it has `attributes`. It also does if the scope is nil and all entities declare their attributes.
func (c *checker) declaresEnough(sc *entity.Scope) bool {
	if len(c.cfg.Attributes) > 0 {
		return true
	}
	entities := c.entitySet().All()
	isUntyped := func(e *entity.Entity) bool { return e.Attributes == nil }
	return sc == nil && len(entities) > 0 && !slices.ContainsFunc(entities, isUntyped)
}

// declaredShapes returns the shapes that the file declares for the items of a scope. The items may have more
// attributes.
func (c *checker) declaredShapes(sc *entity.Scope) []*entity.Shape {
	if shapes := c.shapesOf(sc); shapes != nil {
		return shapes
	}
	return c.knownShapes(sc)
}

// keyPrefixes returns the entries of the key_prefix conditions inside v, each with the name of a key attribute.
func keyPrefixes(v *value) (prefixes []*value) {
	for _, e := range v.All() {
		if e.Name == "key_prefix" {
			prefixes = append(prefixes, e.All()...)
		} else {
			prefixes = append(prefixes, keyPrefixes(e)...)
		}
	}
	return prefixes
}

// checkTTLName warns if the TTL attribute is not declared but similar to a declared attribute: it is probably
// misspelled. The TTL attribute itself needs no declaration.
func (c *checker) checkTTLName() {
	ttl := c.cfg.Source.TTLAttribute
	if ttl == "" {
		return // nearest.Name finds every name of one letter similar to ""
	}
	known := slices.Collect(maps.Keys(c.cfg.Attributes))
	for _, e := range c.entitySet().All() {
		if e.Attributes != nil {
			known = append(known, e.Attributes.Names()...)
		}
	}
	slices.Sort(known)
	if near := nearest.Name(ttl, known); near != "" && !slices.Contains(known, ttl) {
		c.Warn(&c.cfg.Source.TTLAttribute, "did you mean "+near+"? Or "+c.declareHintAnywhere("N", ttl),
			"%s is not among the declared attributes", yamlbind.Quoted(ttl))
	}
}

// check checks v and all values inside v. forEach is the `for_each` whose elements {each} reads. It is nil if there is
// none.
func (n *nameCheck) check(v, forEach *value) {
	if n.shapes == nil {
		return
	}
	path := cmp.Or(forEach.Get("path"), forEach)
	n.forEach = path.Written()
	n.eachPattern = n.elementsPattern(n.forEach)
	n.checkInside(v)
}

// checkInside checks what v and the values inside it read.
func (n *nameCheck) checkInside(v *value) {
	switch d := v.Data.(type) {
	case *template.Template:
		for _, p := range slices.Concat(d.ItemPaths(), d.EachPaths()) {
			n.checkRead(v, p)
		}
	case *expr.Item:
		n.checkExpression(v, fromItem(d.ReadPaths(), n.eachPattern))
	case *expr.Change:
		n.checkExpression(v, d.ReadPaths())
	case item.Path:
		n.checkAttribute(v)
	case item.Pattern:
		n.checkRead(v, d.String())
	}
	nameRule := v.Rule.Name
	namesArePaths := nameRule != nil && nameRule.Kind != nil && nameRule.Kind.AsWritten
	namesAreAttributes := (v.Name == "entity" || v.Name == "key_prefix") && strings.Contains(v.Field, "filters[")
	for _, e := range v.Entries {
		if namesArePaths {
			n.checkRead(e, cmp.Or(n.searchFieldPattern(v, e.Name), e.Name))
		}
		if namesAreAttributes {
			n.checkPath(e, []item.Segment{{Name: e.Name, Index: -1}})
		}
		n.checkInside(e)
	}
}

// checkAttribute checks a value that is a path.
func (n *nameCheck) checkAttribute(v *value) {
	if strings.HasSuffix(v.Field, ".for_each.by") {
		n.checkRead(v, joinPattern("each", v.Source))
		return
	}
	binding := n.scope.Binding(v.Source)
	if binding == nil {
		n.checkRead(v, cmp.Or(n.searchFieldPattern(v, v.Source), itemPath(v.Source), v.Source))
		return
	}
	isAttribute := entity.Find(n.shapes, []item.Segment{{Name: v.Source, Index: -1}}) == nil
	n.c.FailIf(!isAttribute && !readsNames(v), v, "name an attribute", "%s is a part of %s, and not an attribute",
		v.Source, yamlbind.Enumerate(binding.Attributes(), "and"))
}

// checkRead checks a pattern that v reads. In a part with for_each, a pattern that begins with `each` is inside an
// element.
func (n *nameCheck) checkRead(v *value, pattern string) {
	rest, hasEach := cutEachPrefix(pattern)
	if readsElement := hasEach && n.forEach != ""; readsElement {
		if n.isMapReadAsElement(rest) {
			n.c.Fail(v, "declare a list of such maps in brackets, as "+n.forEach+": [{...}]",
				"%s is declared as a map, and each of its values is an element", n.forEach)
			n.eachPattern = "" // the elements are unknown
		}
		if n.eachPattern == "" {
			return
		}
		pattern = joinPattern(n.eachPattern, rest)
	}
	if p, err := item.ParsePattern(pattern); err == nil {
		n.checkPath(v, p.Segments())
	}
}

// elementsPattern returns the pattern of the elements at a path. It returns "" if path is empty. It also returns "" if
// the path is wrong or has no elements, about which there is a problem already.
func (n *nameCheck) elementsPattern(path string) string {
	if path == "" {
		return ""
	}
	if _, err := item.ParsePath(path); err != nil || !n.declares(path) {
		return ""
	}
	pattern := elementsOf(n.shapes, path)
	if isComplete := n.c.shapesOf(n.scope) != nil; isComplete {
		return pattern
	}
	return cmp.Or(pattern, path+"[*]")
}

// checkPath reports the first part of a path that the shapes do not have.
func (n *nameCheck) checkPath(v *value, path []item.Segment) {
	if u := n.firstUndeclared(path); u != nil {
		n.report(v, 0, 0, u)
	}
}

// firstUndeclared returns the first part of a path that the shapes do not have, or nil if they have the whole path.
func (n *nameCheck) firstUndeclared(path []item.Segment) *entity.Undeclared {
	if len(path) > 0 && item.Replicated(path[0].Name) {
		return nil
	}
	return entity.Find(n.shapes, path)
}

// isMapReadAsElement reports whether the value of for_each is declared as a map, and the map itself has the path rest,
// but its values do not. The declaration then probably lacks the brackets of a list.
func (n *nameCheck) isMapReadAsElement(rest string) bool {
	isMap := strings.HasSuffix(n.eachPattern, ".*")
	return isMap && rest != "" && n.c.shapesOf(n.scope) != nil &&
		n.declares(joinPattern(n.forEach, rest)) && !n.declares(joinPattern(n.eachPattern, rest))
}

// declares reports whether the shapes have the whole path.
func (n *nameCheck) declares(path string) bool {
	p, err := item.ParsePattern(path)
	return err == nil && entity.Find(n.shapes, p.Segments()) == nil
}

// checkExpression checks the paths that an expression reads. A name that the expression reads twice is reported once.
func (n *nameCheck) checkExpression(v *value, paths []expr.ReadPath) {
	reported := make(map[string]bool)
	for _, p := range paths {
		u := n.firstUndeclared(p.Segments)
		if u == nil || reported[u.Path+"\x00"+u.Name] {
			continue
		}
		reported[u.Path+"\x00"+u.Name] = true
		n.report(v, p.Line, p.Column, u)
	}
}

// searchFieldPattern returns the pattern that a path among the fields of a search sink means. A path into a list, or
// into the elements of for_each, means all elements. It returns "" if v is not among these fields, or if the path has
// an index.
func (n *nameCheck) searchFieldPattern(v *value, path string) string {
	names := memberNames(path)
	if names == nil || !strings.Contains(v.Field, ".search.fields.") {
		return ""
	}
	pattern := item.PathText(names[:1])
	for _, name := range names[1:] {
		elements := elementsOf(n.shapes, pattern)
		isList := strings.HasSuffix(elements, "[*]")
		isForEach := elements != "" && pattern == n.forEach
		if isList || isForEach {
			pattern = elements
		}
		pattern = joinPattern(pattern, item.PathText([]string{name}))
	}
	return pattern
}

// fromItem converts the paths that an expression reads to paths of the item. A path inside an element is prefixed with
// elements, the pattern of all elements. If elements is "", such a path is left out.
func fromItem(paths []expr.ReadPath, elements string) []expr.ReadPath {
	if elements == "" {
		return slices.DeleteFunc(paths, func(p expr.ReadPath) bool { return p.Each })
	}
	p, err := item.ParsePattern(elements)
	for i := range paths {
		if paths[i].Each && err == nil {
			paths[i].Segments = slices.Concat(p.Segments(), paths[i].Segments)
		}
	}
	return paths
}
