package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// inBraces matches a name in braces within the literal text of a template. In the file each of these braces is doubled:
// {{Name}} is the text {Name}.
var inBraces = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// checkConstants warns of constants where a template with a placeholder was probably meant, such as hotel: HotelId
// instead of hotel: '{HotelId}'. shapesOf returns the known shapes of the items of a scope.
func (c *checker) checkConstants(shapesOf func(*entity.Scope) []*entity.Shape) {
	for _, s := range c.sinks {
		v, sc := c.ValueOf(s), c.scopeOf(s)
		if v == nil {
			continue
		}
		shapes := shapesOf(sc)
		c.checkConstantsIn(v, func(text string) bool {
			return sc.Binding(text) != nil || slices.ContainsFunc(shapes,
				func(s *entity.Shape) bool { return s.Member(text) != nil })
		})
	}
}

// checkConstantsIn warns of constants in v and inside it. isName reports whether a text is the name of an attribute.
func (c *checker) checkConstantsIn(v *value, isName func(string) bool) {
	for _, e := range v.All() {
		c.checkConstantsIn(e, isName)
	}
	t := templateOf(v)
	if t == nil || c.constants[v] {
		return
	}
	if text, corrected, why := misreadConstant(t, v.Source, isName); corrected != "" {
		c.constants[v] = true
		c.Warn(v, "write "+yamlbind.Quoted(corrected)+" for its value", "it is the text %s%s", text, why)
	}
}

// misreadConstant returns a text of the template that was probably meant as a placeholder, the source with the
// placeholder, and the end of the message. corrected is "" if there is no such text.
func misreadConstant(t *template.Template, source string, isName func(string) bool) (text, corrected, why string) {
	text, isConstant := t.Prefix()
	lastPart := text[strings.LastIndexAny(text, "#/|")+1:]
	prefix, name := text[:len(text)-len(lastPart)], strings.Trim(lastPart, "$<>:%")
	isBuiltin := strings.HasPrefix(lastPart, "@") && slices.Contains(builtinNames, lastPart[1:])
	switch {
	case isConstant && name != "" && isName(name):
		return text, prefix + "{" + item.PathText([]string{name}) + "}", ", and not the value that an item has there"
	case isConstant && isBuiltin:
		return text, prefix + "{" + lastPart + "}", ", the same for every item"
	}
	for _, literal := range t.Literals() {
		if m := inBraces.FindStringSubmatch(literal); m != nil && (isName(m[1]) || isConstant && m[0] == text) {
			return m[0], strings.ReplaceAll(source, "{"+m[0]+"}", m[0]), ": two braces are a brace of the text"
		}
	}
	return "", "", ""
}

// checkOneRow warns of a view in which all items share one row.
func (c *checker) checkOneRow(v *View) {
	key := c.ValueOf(&v.Key).All()
	if len(key) == 0 || v.ForEach != nil {
		return
	}
	for _, e := range key {
		if t := templateOf(e); t == nil || c.constants[e] {
			return
		} else if _, constant := t.Prefix(); !constant {
			return
		}
	}
	c.Warn(&v.Key, "read the item in it, as in {@key}", "its texts are constant: all items are one row")
}

// placeholder matches a part of a pattern's literal text that looks like a placeholder of another language, such as
// <Id> or :Id.
var placeholder = regexp.MustCompile(`\{[A-Za-z_]\w*\}|<[A-Za-z_]\w*>|(?:^|[#/|])[:$][A-Za-z_]\w*|\*`)

// failMisreads calls failMisread for the entities of the scope, until failMisread returns true for one of them. It
// reports whether that happened.
func (c *checker) failMisreads(sc *entity.Scope, name string) bool {
	for _, e := range sc.Entities() {
		i := slices.IndexFunc(c.cfg.Entities, func(declared Entity) bool { return declared.Name == e.Name })
		if i >= 0 && c.failMisread(&c.cfg.Entities[i], name, e.Attributes != nil) {
			return true
		}
	}
	return false
}

// failMisread notes a problem if a key pattern of e has the name as literal text, such as 'RES#ResId' or
// 'RES#{{ResId}}' instead of 'RES#{ResId}'. Then the pattern is wrong, and the parts of the file that read the name are
// right. failMisread notes at most one problem for each pattern. If mayBePlain is false, a text counts only if it looks
// like a placeholder, because the name may be an attribute. failMisread reports whether a pattern has such a text.
func (c *checker) failMisread(e *Entity, name string, mayBePlain bool) bool {
	for _, k := range c.ValueOf(&e.Key).All() {
		p := yamlbind.As[*entity.Pattern](k)
		if p == nil || name == "" {
			continue
		}
		text, corrected := misreadText(p, name, mayBePlain)
		if text == "" {
			continue
		}
		if !c.lacksPlaceholder[k] {
			c.lacksPlaceholder[k] = true
			message := "it has no placeholder where rules read %s"
			if strings.HasPrefix(text, "{{") {
				message = "two braces are a brace of the text, and rules read %s"
			}
			c.Fail(k, "write "+yamlbind.Quoted(corrected), message, name)
		}
		return true
	}
	return false
}

// misreadText returns a text of the pattern that was probably meant as a placeholder of the name, and the pattern with
// the placeholder. It returns "" if there is none.
func misreadText(p *entity.Pattern, name string, mayBePlain bool) (text, corrected string) {
	forms := []string{"{{" + name + "}}", "<" + name + ">", "${{" + name + "}}", "$" + name, ":" + name}
	if mayBePlain && len(p.Names()) == 0 {
		forms = append(forms, name)
	}
	for _, form := range forms {
		before, after, found := strings.Cut(p.String(), form)
		isPart := endsInWord(before) || startsWithWord(after) || strings.HasSuffix(before, "{")
		if found && !isPart {
			return form, before + "{" + name + "}" + after
		}
	}
	return "", ""
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func startsWithWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// checkPatterns warns of key patterns whose literal text looks like a placeholder. Such a pattern matches only keys
// that contain exactly this text.
func (c *checker) checkPatterns() {
	for _, e := range c.ValueOf(&c.cfg.Entities).All() {
		for _, k := range e.Get("key").All() {
			p := yamlbind.As[*entity.Pattern](k)
			if p == nil || c.lacksPlaceholder[k] {
				continue
			}
			for _, literal := range p.Literals() {
				if found := strings.TrimLeft(placeholder.FindString(literal), "#/|"); found != "" {
					c.Warn(k, "write {NAME}, in one pair of braces, for a part that differs", "it matches keys with the text %s",
						yamlbind.Quoted(found))
				}
			}
		}
	}
}

// checkComparedTexts warns of detectors whose from or to is a text that looks like a list or a template. Detectors
// compare with the text as it is.
func (c *checker) checkComparedTexts() {
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		for _, name := range []string{"from", "to"} {
			e := d.Get(name)
			c.checkComparedType(d, e)
			if text := e.Text(); strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
				c.Warn(e, "write one value, or a detector with when: 'new.A in [\"X\", \"Y\"]'",
					"the detector compares with the text %s, and reads no list", yamlbind.Quoted(text))
			}
			if inBraces.MatchString(e.Text()) {
				c.Warn(e, "write the value, or when: 'new.A == old.B' for two attributes",
					"the detector compares with the text %s, and reads no template", yamlbind.Quoted(e.Text()))
			}
		}
	}
}

// checkComparedType refuses a from or to that an attribute of the declared type never equals: 5 is a number, and "5" is
// a text.
func (c *checker) checkComparedType(d, e *value) {
	path := yamlbind.As[item.Path](d.Get("attribute"))
	if e == nil || e.Env || e.Text() == "*" || path.Root() != path.String() || c.isBrokenAt(d.Field) {
		return
	}
	yamlType, kind := yamlbind.Resolve(e.Node), c.declaredKind(c.scopeAt(d.Field), path.Root())
	isNumber := yamlType == yamlbind.IsInteger || yamlType == yamlbind.IsFloat
	switch {
	case kind == item.KindS && isNumber:
		c.Fail(e, "quote it: "+yamlbind.Quoted(e.Node.Value), "%s is a number, and %s is declared S: the two are never equal",
			e.Node.Value, path)
	case kind == item.KindN && yamlType == yamlbind.IsText:
		c.Fail(e, "write a number without quotes", "%s is a text, and %s is declared N: the two are never equal",
			yamlbind.Quoted(e.Node.Value), path)
	}
}

// checkDates refuses templates that read an attribute as a date if its declared type is neither S nor N.
func (c *checker) checkDates() {
	for _, s := range c.sinks {
		if v := c.ValueOf(s); v != nil && !c.hasBrokenOf(s) {
			c.checkDatesIn(v, c.scopeOf(s))
		}
	}
}

func (c *checker) checkDatesIn(v *value, sc *entity.Scope) {
	for _, e := range v.All() {
		c.checkDatesIn(e, sc)
	}
	t := templateOf(v)
	if t == nil {
		return
	}
	for _, path := range t.DatePaths() {
		switch kind := c.declaredKind(sc, path); kind {
		case item.Absent, item.KindS, item.KindN, item.KindNULL:
		default:
			c.Fail(v, "read a date in it, or name another attribute", "%s is declared %s, and no date", path, kind)
		}
	}
}

// checkMembers refuses detectors of set members (added, removed) if the declared type of the attribute is not a set.
// Such a detector never raises an event.
func (c *checker) checkMembers() {
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		for _, name := range []string{"added", "removed"} {
			path := yamlbind.As[item.Path](d.Get(name))
			if d.Get(name) == nil || path.Root() != path.String() || c.isBrokenAt(d.Field) {
				continue
			}
			switch kind := c.declaredKind(c.scopeAt(d.Field), path.Root()); kind {
			case item.Absent, item.KindSS, item.KindNS, item.KindBS:
			default:
				c.Fail(d.Get(name), "name a set, or write changed: PATH", "members are of sets, and %s is declared %s", path, kind)
			}
		}
	}
}

// checkThresholds refuses thresholds (below, above) on attributes whose declared type is not N. Such a threshold is
// never crossed.
func (c *checker) checkThresholds() {
	for _, d := range c.ValueOf(&c.cfg.Detectors).All() {
		path := yamlbind.As[item.Path](d.Get("attribute"))
		if path.Root() != path.String() || d.Get("below") == nil && d.Get("above") == nil || c.isBrokenAt(d.Field) {
			continue
		}
		if kind := c.declaredKind(c.scopeAt(d.Field), path.Root()); kind != item.Absent && kind != item.KindN {
			c.Fail(d.Get("attribute"), "name an N, or declare it so", "a threshold is of numbers, and %s is declared %s", path,
				kind)
		}
	}
}
