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

// readPart is a part of the file that reads attributes of items: all filters, `sensitive`, a sink or a detector.
type readPart struct {
	value   *value
	forEach *value        // the `for_each` whose elements {each} reads; nil if there is none
	scope   *entity.Scope // entities that the part uses; nil for any item
}

// readParts returns every part of the file that reads attributes and whose entities are known.
func (c *checker) readParts() (parts []readPart) {
	for _, field := range []any{&c.cfg.Filters, &c.cfg.Sensitive} {
		if v := c.ValueOf(field); v != nil {
			parts = append(parts, readPart{value: v})
		}
	}
	for _, s := range c.sinks {
		v := c.ValueOf(s)
		if hasOneKind := len(v.All()) == 1; hasOneKind && !c.namesBrokenEntity(s) {
			kind := v.Entries[0]
			parts = append(parts, readPart{kind, kind.Get("for_each"), c.scopeOf(s)})
		}
	}
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		if !c.isBrokenAt(d.Field) {
			parts = append(parts, readPart{value: d, scope: c.scopeAt(d.Field)})
		}
	}
	return parts
}

// undeclaredRead is a read of a path that the shapes do not have.
type undeclaredRead struct {
	*entity.Undeclared        // the first part of the path that the shapes do not have
	value              *value // what reads the path
	line, column       int    // position of the path in value, if it is an expression; otherwise 0
}

// id identifies the undeclared name.
func (r *undeclaredRead) id() string { return r.Path + "\x00" + r.Name }

// checkNames checks the names of attributes in each part of the file if the file declares attributes for the part. A
// name that is not declared is an error if the part has an `of` whose entities all declare their attributes. In other
// parts it is a warning, because an item without an entity can have other attributes. Each name is warned of once.
func (c *checker) checkNames() {
	warned := make(map[string]bool)
	for _, part := range c.readParts() {
		n := newNameCheck(c, part.scope, c.declaredShapes(part.scope))
		for _, r := range n.undeclaredReads(part) {
			isReported := r.Path == "" && c.failMissingBracesIn(part.scope, r.Name)
			switch {
			case isReported:
			case n.areComplete:
				message, hint := c.undeclaredInScope(r.Undeclared, part.scope)
				c.FailWithin(r.value, r.line, r.column, message, n.refineHint(r.value, r.Undeclared, hint))
				c.undeclared[r.value] = true
			case !warned[r.id()]:
				message, hint := c.undeclaredMessage(r.Undeclared)
				c.WarnWithin(r.value, r.line, r.column, message, n.refineHint(r.value, r.Undeclared, hint))
				warned[r.id()], c.undeclared[r.value] = true, true
			}
		}
	}
	c.checkTTLName()
}

// fileShapes returns the shapes that the whole file declares. It is used for a scope if not all of the scope's entities
// declare their attributes. It returns nil if the file does not declare enough to check names.
func (c *checker) fileShapes(sc *entity.Scope) []*entity.Shape {
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
		shapes = append(shapes, c.entityShape(e))
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
	if shapes := c.scopeShapes(sc); shapes != nil {
		return shapes
	}
	return c.fileShapes(sc)
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

// nameCheck finds the reads of one part of the file that the shapes do not have.
type nameCheck struct {
	c           *checker
	shapes      []*entity.Shape // shapes that the items can have; nil if they can have any attributes
	scope       *entity.Scope   // entities that the part uses; nil for any item
	areComplete bool            // the file declares all attributes that the items of the scope can have
	forEach     string          // path of the list whose elements are {each}; "" if there is none
	eachPattern string          // pattern of the elements {each}; "" if there are none, or if they are unknown

	found []undeclaredRead
}

// newNameCheck returns the check of a part that reads the items of a scope, which have the shapes.
func newNameCheck(c *checker, scope *entity.Scope, shapes []*entity.Shape) *nameCheck {
	return &nameCheck{c: c, shapes: shapes, scope: scope, areComplete: c.scopeShapes(scope) != nil}
}

// undeclaredReads returns the undeclared reads of a part, in the order of the file.
func (n *nameCheck) undeclaredReads(part readPart) []undeclaredRead {
	if n.shapes == nil {
		return nil
	}
	n.forEach = cmp.Or(part.forEach.Get("path"), part.forEach).Written()
	n.eachPattern = n.elementsPattern(n.forEach)
	n.checkInside(part.value)
	return n.found
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
	namesArePaths, namesAreKeys := hasPathsAsNames(v), hasKeyAttributesAsNames(v)
	for _, e := range v.Entries {
		if namesArePaths {
			n.checkRead(e, cmp.Or(n.searchFieldPattern(v, e.Name), e.Name))
		}
		if namesAreKeys {
			n.checkPath(e, attributeSegment(e.Name))
		}
		n.checkInside(e)
	}
}

// hasPathsAsNames reports whether the names of v's entries are paths of the item, such as those of `fields`.
func hasPathsAsNames(v *value) bool {
	names := v.Rule.Name
	return names != nil && names.Kind != nil && names.Kind.AsWritten
}

// hasKeyAttributesAsNames reports whether v is an `entity` or a `key_prefix` of a filter. The names of its entries are
// key attributes.
func hasKeyAttributesAsNames(v *value) bool {
	return (v.Name == "entity" || v.Name == "key_prefix") && strings.Contains(v.Field, "filters[")
}

// attributeSegment returns the path of a top-level attribute.
func attributeSegment(name string) []item.Segment { return []item.Segment{{Name: name, Index: -1}} }

// checkAttribute checks a value that is a path. It can also be a name that the patterns of the scope bind to a part of
// a key. Such a name is allowed where names are, or if there is an attribute of this name, too.
func (n *nameCheck) checkAttribute(v *value) {
	binding := n.scope.Binding(v.Source)
	switch {
	case strings.HasSuffix(v.Field, ".for_each.by"):
		n.checkRead(v, joinPattern("each", v.Source))
	case binding == nil:
		n.checkRead(v, cmp.Or(n.searchFieldPattern(v, v.Source), itemPath(v.Source), v.Source))
	case !readsNames(v) && entity.FirstUndeclared(n.shapes, attributeSegment(v.Source)) != nil:
		n.c.Fail(v, "name an attribute", "%s is a part of %s, and not an attribute", v.Source,
			yamlbind.Enumerate(binding.Attributes(), "and"))
	}
}

// checkRead checks a pattern that v reads. In a part with for_each, a pattern that begins with `each` is inside an
// element.
func (n *nameCheck) checkRead(v *value, pattern string) {
	rest, hasEach := cutEachPrefix(pattern)
	if readsElement := hasEach && n.forEach != ""; readsElement {
		n.failMapOfElements(v, rest)
		if n.eachPattern == "" {
			return
		}
		pattern = joinPattern(n.eachPattern, rest)
	}
	if p, err := item.ParsePattern(pattern); err == nil {
		n.checkPath(v, p.Segments())
	}
}

// failMapOfElements notes a problem if for_each names a map whose members v reads as those of an element. The elements
// are then unknown, so nothing else is checked inside them.
func (n *nameCheck) failMapOfElements(v *value, rest string) {
	if n.isMapReadAsElement(rest) {
		n.c.Fail(v, "declare a list of such maps in brackets, as "+n.forEach+": [{...}]",
			"%s is declared as a map, and each of its values is an element", n.forEach)
		n.eachPattern = ""
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
	if n.areComplete {
		return pattern
	}
	return cmp.Or(pattern, path+"[*]") // an item can have a list that the file does not declare
}

// checkPath adds a read of a path by v to found if the shapes do not have the path.
func (n *nameCheck) checkPath(v *value, path []item.Segment) {
	if u := n.firstUndeclared(path); u != nil {
		n.found = append(n.found, undeclaredRead{u, v, 0, 0})
	}
}

// firstUndeclared returns the first part of a path that the shapes do not have, or nil if they have the whole path.
func (n *nameCheck) firstUndeclared(path []item.Segment) *entity.Undeclared {
	if len(path) > 0 && item.Replicated(path[0].Name) {
		return nil
	}
	return entity.FirstUndeclared(n.shapes, path)
}

// isMapReadAsElement reports whether the value of for_each is declared as a map, and the map itself has the path rest,
// but its values do not. The declaration then probably lacks the brackets of a list.
func (n *nameCheck) isMapReadAsElement(rest string) bool {
	isMap := strings.HasSuffix(n.eachPattern, ".*")
	return isMap && rest != "" && n.areComplete &&
		n.declares(joinPattern(n.forEach, rest)) && !n.declares(joinPattern(n.eachPattern, rest))
}

// declares reports whether the shapes have the whole path.
func (n *nameCheck) declares(path string) bool {
	p, err := item.ParsePattern(path)
	return err == nil && entity.FirstUndeclared(n.shapes, p.Segments()) == nil
}

// checkExpression checks the paths that an expression reads. A name that the expression reads twice is added once.
func (n *nameCheck) checkExpression(v *value, paths []expr.ReadPath) {
	isAdded := make(map[string]bool)
	for _, p := range paths {
		u := n.firstUndeclared(p.Segments)
		if u == nil {
			continue
		}
		r := undeclaredRead{u, v, p.Line, p.Column}
		if !isAdded[r.id()] {
			n.found = append(n.found, r)
		}
		isAdded[r.id()] = true
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
