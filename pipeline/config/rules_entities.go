package config

import (
	"cmp"
	"fmt"
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

// maxKeyAttributes is the most key attributes of a table.
const maxKeyAttributes = 2

// checkEntities checks each entity, and that no item can be of two.
func (c *checker) checkEntities() {
	for i := range c.cfg.Entities {
		e := &c.cfg.Entities[i]
		key := c.Of(&e.Key)
		c.FailIf(len(key.All()) > maxKeyAttributes, key, "keep the partition key and the sort key", "a table has one or two key attributes, not %d", len(key.All()))
		bound := e.entity().Names()
		for j, v := range c.Of(&e.Unique).All() {
			name := v.Text()
			c.FailIf(name != "" && !slices.Contains(bound, name), v, yamlbind.Hint(name, bound, "the key binds"), "%s is no name that the key binds, and only a key stays with its item", yamlbind.Quoted(name))
			c.FailIf(slices.Contains(e.Unique[:j], name), v, "remove one of them", "%s stands twice", yamlbind.Quoted(name))
		}
		c.checkKeyShapes(e)
		for j := range i {
			c.checkOverlap(&c.cfg.Entities[j], e)
		}
	}
}

// checkKeyShapes checks that key attributes of a declared type other than S have patterns that can hold.
func (c *checker) checkKeyShapes(e *Entity) {
	for _, v := range c.Of(&e.Key).All() {
		p, kind := yamlbind.As[*entity.Pattern](v), c.cfg.Attributes[v.Name]
		if s := e.Attributes.shape; s != nil && s.Member(v.Name) != nil {
			kind = s.Member(v.Name).Kind
		}
		c.FailIf(p != nil && !p.Whole() && (kind == item.KindN || kind == item.KindB), v, "write one name alone, as in '{Number}'",
			"%s is declared as %s, which binds whole", v.Name, kind)
	}
}

// checkOverlap checks that no item can be of both entities.
func (c *checker) checkOverlap(a, b *Entity) {
	x, y := a.entity(), b.entity()
	if len(x.Key) < len(c.Of(&a.Key).All()) || len(y.Key) < len(c.Of(&b.Key).All()) {
		return // a wrong pattern is reported already
	}
	both := entity.Compare(x, y)
	const hint = "change one of the patterns, or give both a `when`: item.Type == \"NAME\""
	switch {
	case both.Overlap == entity.Disjoint, a.When != nil && b.When != nil && exclude(a.When.Clause(), b.When.Clause()):
	case a.When != nil && b.When != nil:
		c.Warn(b, "compare one attribute of both with texts: item.Type == \"NAME\"", "whether an item can be of both %s and %s is not proven%s: such an item is of %s", a.Name, b.Name, example(both), a.Name)
	case both.Overlap == entity.Unproven:
		c.Warn(b, "begin the patterns with texts of their own", "whether a key can be of both %s and %s is not proven, because a name stands twice in one of them: such an item is of %s", a.Name, b.Name, a.Name)
	case a.When != nil || b.When != nil:
		c.Fail(b, hint, "an item can be of both %s and %s%s: one of them has no `when`", a.Name, b.Name, example(both))
	default:
		c.Fail(b, hint, "an item can be of both %s and %s%s", a.Name, b.Name, example(both))
	}
}

func example(c entity.Comparison) string {
	if c.Example == "" {
		return ""
	}
	return ", with the key " + c.Example
}

// exclude reports whether two expressions certainly never hold for one item: they compare an attribute with different texts.
func exclude(a, b expr.Clause) bool {
	for _, x := range factors(a) {
		for _, y := range factors(b) {
			if x.Kind == expr.TextIn && y.Kind == expr.TextIn && x.Attribute == y.Attribute &&
				!slices.ContainsFunc(x.Texts, func(text string) bool { return slices.Contains(y.Texts, text) }) {
				return true
			}
			if x.Kind == expr.FlagIs && y.Kind == expr.FlagIs && x.Attribute == y.Attribute && x.Flag != y.Flag {
				return true
			}
		}
	}
	return false
}

// factors returns the clauses that must all be true.
func factors(c expr.Clause) []expr.Clause {
	if c.Kind != expr.AllOf {
		return []expr.Clause{c}
	}
	var all []expr.Clause
	for _, part := range c.Parts {
		all = append(all, factors(part)...)
	}
	return all
}

// shapesOf returns the shapes of the items of a scope: the declared attributes, those of the key, and those of `attributes` at
// the top. It returns nil if one of the entities declares none.
func (c *checker) shapesOf(sc *entity.Scope) []*entity.Shape {
	var shapes []*entity.Shape
	for _, e := range sc.Entities() {
		if e.Attributes == nil {
			return nil
		}
		s := &entity.Shape{Kind: item.KindM, Members: slices.Clone(e.Attributes.Members)}
		add := func(name string, kind item.Kind) {
			if name != "" && s.Member(name) == nil {
				s.Members = append(s.Members, entity.Member{Name: name, Shape: &entity.Shape{Kind: kind}})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.cfg.Attributes)) {
			add(name, c.cfg.Attributes[name])
		}
		add(c.cfg.Source.TTLAttribute, item.KindN)
		for _, k := range e.Key {
			kind := item.KindS
			if k.Pattern.Whole() {
				kind = item.KindNULL // an S, an N or a B
			}
			add(k.Attribute, kind)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// exprEnv returns what the expression at v can read.
func (c *checker) exprEnv(v *value) expr.Env {
	env := expr.Env{Attributes: c.cfg.Attributes, Scope: c.scopeAt(v.Field), Each: c.hasElements(v.Field)}
	shapes := c.shapesOf(env.Scope)
	if shapes == nil {
		return env
	}
	env.Attributes = make(map[string]item.Kind)
	for _, s := range shapes {
		for _, m := range s.Members {
			if kind, known := env.Attributes[m.Name]; known && kind != m.Shape.Kind {
				m.Shape = &entity.Shape{Kind: item.KindNULL} // any type
			}
			env.Attributes[m.Name] = m.Shape.Kind
		}
	}
	env.Declare = func(name string) string { return declareHint(env.Scope, "", name) }
	return env
}

// declareHint says which line declares a name.
func declareHint(sc *entity.Scope, inside, name string) string {
	where := "the attributes of " + sc.String()
	if inside != "" {
		where = inside + " in " + where
	}
	return fmt.Sprintf("add `%s: S` (or its type) to %s", name, where)
}

// checkDeclared checks the names of attributes in everything that is about entities which declare theirs.
func (c *checker) checkDeclared() {
	if len(c.of) == 0 {
		return
	}
	for _, s := range c.sinks {
		if v, sc := c.Of(s), c.scopeOf(s); v != nil && len(v.Entries) == 1 && sc != nil {
			kind := v.Entries[0]
			c.checkDeclaredIn(kind, kind.Get("for_each"), sc)
		}
	}
	for _, d := range c.Of(&c.cfg.Detectors).All() {
		if sc := c.scopeAt(d.Field); sc != nil {
			c.checkDeclaredIn(d, nil, sc)
		}
	}
}

// checkDeclaredIn checks v and everything inside it. list is the `for_each` whose elements {each} is; nil: there is none.
func (c *checker) checkDeclaredIn(v, list *value, sc *entity.Scope) {
	shapes := c.shapesOf(sc)
	if shapes == nil {
		return
	}
	path := list.Written()
	if p := list.Get("path"); p != nil {
		path = p.Written()
	}
	pattern := cmp.Or(elementsOf(shapes, path), path+"[*]")
	check := func(v *value, read string) {
		if rest, each := cutEachPrefix(read); each && path != "" {
			read = within(pattern, rest)
		}
		if p, err := item.ParsePattern(read); err == nil {
			c.checkDeclaredPath(v, p.Segments(), shapes, sc)
		}
	}
	var walk func(v *value)
	walk = func(v *value) {
		switch d := v.Data.(type) {
		case *template.Template:
			for _, p := range slices.Concat(d.ItemPaths(), d.EachPaths()) {
				check(v, p)
			}
		case *expr.Item:
			c.checkDeclaredExpr(v, fromItem(d.ReadPaths(), pattern), shapes, sc)
		case *expr.Change:
			c.checkDeclaredExpr(v, d.ReadPaths(), shapes, sc)
		case item.Path:
			if strings.HasSuffix(v.Field, ".for_each.by") {
				check(v, "each"+map[bool]string{true: v.Source, false: "." + v.Source}[strings.HasPrefix(v.Source, "[")])
			} else if field := documentField(v, v.Source, shapes, path); field != "" {
				if b := sc.Binding(field); b != nil && entity.Find(shapes, []item.Segment{{Name: field, Index: -1}}) != nil {
					c.Fail(v, "name an attribute", "%s is a part of %s, and fields are attributes", field, yamlbind.Enumerate(b.Attributes(), "and"))
					return
				}
				check(v, field)
			} else if sc.Binding(v.Source) == nil {
				check(v, cmp.Or(itemPath(v.Source), v.Source))
			}
		case item.Pattern:
			check(v, d.String())
		}
		for _, e := range v.Entries {
			if name := v.Rule.Name; name != nil && name.Kind != nil && name.Kind.AsWritten {
				check(e, cmp.Or(documentField(v, e.Name, shapes, path), e.Name))
			}
			walk(e)
		}
	}
	walk(v)
}

// documentField returns the pattern of what a path among the fields of a search sink names: a path into a list means all
// elements, and so does one into the elements of for_each. It returns "" for other paths.
func documentField(v *value, path string, shapes []*entity.Shape, forEach string) string {
	p, err := item.ParsePath(path)
	names, ok := p.Names()
	if err != nil || !ok || !strings.Contains(v.Field, ".search.fields.") {
		return ""
	}
	pattern := ""
	for i, name := range names {
		if name = item.PathText([]string{name}); i > 0 {
			name = within(pattern, name)
		}
		if pattern = name; i == len(names)-1 {
			break
		}
		if of := elementsOf(shapes, pattern); strings.HasSuffix(of, "[*]") || of != "" && pattern == forEach {
			pattern = of
		}
	}
	return pattern
}

// fromItem returns the paths that an expression reads as paths of the item: those of an element begin at the pattern of all.
func fromItem(paths []expr.ReadPath, elements string) []expr.ReadPath {
	p, err := item.ParsePattern(elements)
	for i := range paths {
		if paths[i].Each && err == nil {
			paths[i].Segments = slices.Concat(p.Segments(), paths[i].Segments)
		}
	}
	return paths
}

// scopeOf returns the entities that a sink is about. A notify sink without `of` is about those of its events, if all of them
// are about entities.
func (c *checker) scopeOf(s *Sink) *entity.Scope {
	if s.Scope != nil || s.Notify == nil {
		return s.Scope
	}
	var names []string
	for _, event := range s.Notify.Events {
		i := slices.IndexFunc(c.cfg.Detectors, func(d Detector) bool { return d.Name == event })
		if i < 0 || len(c.cfg.Detectors[i].Of) == 0 {
			return nil
		}
		names = append(names, c.cfg.Detectors[i].Of...)
	}
	if len(names) == 0 {
		return nil
	}
	return c.entitySet().Scope(names...)
}

// bindAttributes finds the names that keys bind among the attributes of events, and the paths written as item.PATH.
func (c *checker) bindAttributes(s *Sink) {
	sc := c.scopeOf(s)
	if sc == nil {
		return
	}
	s.Notify.Attributes = nil
	for _, e := range c.Of(&s.Notify.Attributes).All() {
		path, ok := e.Data.(item.Path)
		if b := sc.Binding(e.Source); b != nil {
			s.Notify.Bound = append(s.Notify.Bound, b)
			continue
		}
		if inside, err := item.ParsePath(itemPath(e.Source)); err == nil {
			path = inside
		}
		if ok {
			s.Notify.Attributes = append(s.Notify.Attributes, path)
		}
	}
}

// bindValues finds the names that keys bind among the values of an aggregate, and the paths written as item.PATH.
func (c *checker) bindValues(s *Sink) {
	if s.Scope == nil {
		return
	}
	at := c.Of(&s.Aggregate.Values)
	for i := range s.Aggregate.Values {
		v := &s.Aggregate.Values[i]
		if v.Of == "count" || v.Each {
			continue
		}
		if v.Bound = s.Scope.Binding(v.Path); v.Bound == nil {
			v.Path = cmp.Or(itemPath(v.Path), v.Path)
			continue
		}
		c.FailIf(v.Of == "sum" && v.Bound.IsText(), at.Get(v.Name), "sum an attribute, or count the distinct texts", "%s is a part of a key, which is text", v.Path)
	}
}

// itemPath returns path for item.path; "" for any other text.
func itemPath(text string) string {
	rest, ok := strings.CutPrefix(text, "item")
	if !ok || !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") {
		return ""
	}
	return strings.TrimPrefix(rest, ".")
}

// checkDeclaredExpr checks the paths that an expression reads, at their positions in it.
func (c *checker) checkDeclaredExpr(v *value, paths []expr.ReadPath, shapes []*entity.Shape, sc *entity.Scope) {
	for _, p := range paths {
		if u := entity.Find(shapes, p.Segments); u != nil {
			message, hint := undeclared(u, sc)
			c.FailWithin(v, p.Line, p.Column, message, hint)
			return
		}
	}
}

func (c *checker) checkDeclaredPath(v *value, path []item.Segment, shapes []*entity.Shape, sc *entity.Scope) {
	if len(path) > 0 && item.Replicated(path[0].Name) {
		return
	}
	if u := entity.Find(shapes, path); u != nil {
		message, hint := undeclared(u, sc)
		c.Fail(v, hint, "%s", message)
	}
}

// undeclared says what is not declared, and what to write.
func undeclared(u *entity.Undeclared, sc *entity.Scope) (message, hint string) {
	switch {
	case u.Name == "":
		return fmt.Sprintf("%s is of type %s in %s, and has no such elements", u.Path, u.Kind, sc), "name what is declared there"
	case u.Path != "" && len(u.Known) == 0:
		return fmt.Sprintf("%s is of type %s in %s, and has no %s", u.Path, u.Kind, sc, u.Name), "name the attribute itself, or declare it as M"
	case u.Path == "":
		message = fmt.Sprintf("%s is no attribute of %s", yamlbind.Quoted(u.Name), sc)
		for _, e := range sc.Entities() {
			if slices.Contains(e.Names(), u.Name) {
				return message, "the key of " + e.Name + " binds it, and a rule about several entities can read only what all of them bind alike"
			}
		}
	default:
		message = fmt.Sprintf("%s has no %s in %s", u.Path, yamlbind.Quoted(u.Name), sc)
	}
	hint = declareHint(sc, u.Path, u.Name)
	known := slices.Clone(u.Known)
	if u.Path == "" {
		for _, b := range sc.Bindings() {
			known = append(known, b.Name())
		}
	}
	if near := nearest.Name(u.Name, known); near != "" {
		hint = "did you mean " + near + "? Or " + hint
	}
	return message, hint
}
