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

// inBraces matches a name in braces in the literal text of a template, as {Name}. The file has {{Name}} for it.
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
		isName := func(text string) bool {
			hasMember := func(shape *entity.Shape) bool { return shape.Member(text) != nil }
			return sc.Binding(text) != nil || slices.ContainsFunc(shapes, hasMember)
		}
		c.checkConstantsIn(v, isName)
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
	meant := placeholderAtEnd(t, isName)
	if meant.text == "" {
		meant = placeholderInBraces(t, v.Source, isName)
	}
	if meant.text != "" {
		c.constants[v] = true
		c.Warn(v, "write "+yamlbind.Quoted(meant.corrected)+" for its value", "it is the text %s%s", meant.text, meant.effect)
	}
}

// meantPlaceholder is a literal text that was probably meant as a placeholder. The zero value means that there is none.
type meantPlaceholder struct {
	text      string
	corrected string // source with the placeholder
	effect    string // part of the message: what is wrong with the text
}

// placeholderAtEnd finds a missing placeholder in a template without placeholders. The end of such a text is the name
// of an attribute, as in HOTEL#HotelId, or a built-in name, as in HOTEL#@key.
func placeholderAtEnd(t *template.Template, isName func(string) bool) meantPlaceholder {
	text, isConstant := t.Prefix()
	if !isConstant {
		return meantPlaceholder{}
	}
	lastPart := text[strings.LastIndexAny(text, "#/|")+1:]
	before := strings.TrimSuffix(text, lastPart)
	if name := strings.Trim(lastPart, "$<>:%"); name != "" && isName(name) {
		return meantPlaceholder{text, before + "{" + item.PathText([]string{name}) + "}",
			", and not the value that an item has there"}
	}
	if builtin, hasAt := strings.CutPrefix(lastPart, "@"); hasAt && slices.Contains(builtinNames, builtin) {
		return meantPlaceholder{text, before + "{" + lastPart + "}", ", the same for every item"}
	}
	return meantPlaceholder{}
}

// placeholderInBraces finds a name in doubled braces, as in {{NAME}}, which a template takes for the text {NAME}. The
// name counts if it is that of an attribute, or if the template is this text alone.
func placeholderInBraces(t *template.Template, source string, isName func(string) bool) meantPlaceholder {
	prefix, isConstant := t.Prefix()
	for _, literal := range t.Literals() {
		m := inBraces.FindStringSubmatch(literal)
		if m == nil {
			continue
		}
		text, name := m[0], m[1]
		isWholeTemplate := isConstant && text == prefix
		if isName(name) || isWholeTemplate {
			return meantPlaceholder{text, strings.ReplaceAll(source, "{"+text+"}", text),
				": two braces are a brace of the text"}
		}
	}
	return meantPlaceholder{}
}

// checkOneRow warns of a view in which all items share one row.
func (c *checker) checkOneRow(v *View) {
	key := c.ValueOf(&v.Key).All()
	if len(key) == 0 || v.ForEach != nil {
		return
	}
	for _, e := range key {
		t := templateOf(e)
		if t == nil || c.constants[e] {
			return // reported already
		}
		if _, isConstant := t.Prefix(); !isConstant {
			return
		}
	}
	c.Warn(&v.Key, "read the item in it, as in {@key}", "its texts are constant: all items are one row")
}

// foreignPlaceholder matches literal text that looks like a placeholder of another language, such as <Id> or :Id.
var foreignPlaceholder = regexp.MustCompile(`\{[A-Za-z_]\w*\}|<[A-Za-z_]\w*>|(?:^|[#/|])[:$][A-Za-z_]\w*|\*`)

// failMissingBracesIn notes a problem for the first entity of the scope whose key has the name as literal text (see
// failMissingBraces). It returns false if there is no such entity.
func (c *checker) failMissingBracesIn(sc *entity.Scope, name string) bool {
	for _, e := range sc.Entities() {
		i := slices.IndexFunc(c.cfg.Entities, func(declared Entity) bool { return declared.Name == e.Name })
		if i < 0 {
			continue
		}
		forms := markedForm // the name may be an attribute that is not declared
		if e.Attributes != nil {
			forms = anyForm
		}
		if c.failMissingBraces(&c.cfg.Entities[i], name, forms) {
			return true
		}
	}
	return false
}

// literalForms are the spellings of a name in the literal text of a pattern that count as a wrong placeholder.
type literalForms int

const (
	markedForm literalForms = iota // texts that look like a placeholder, such as <NAME>
	anyForm                        // also NAME alone
)

// failMissingBraces notes a problem if the key of e has the name as literal text, such as 'RES#ResId' or
// 'RES#{{ResId}}' instead of 'RES#{ResId}'. The problem is about the pattern, not about the parts of the file that read
// the name. It returns false if the key has no such text. It notes only one problem for each pattern.
func (c *checker) failMissingBraces(e *Entity, name string, forms literalForms) bool {
	if name == "" {
		return false
	}
	for _, k := range c.ValueOf(&e.Key).All() {
		p := yamlbind.As[*entity.Pattern](k)
		if p == nil {
			continue
		}
		meant := findLiteralName(p, name, forms)
		if meant.text == "" {
			continue
		}
		if !c.lacksPlaceholder[k] {
			c.lacksPlaceholder[k] = true
			c.Fail(k, "write "+yamlbind.Quoted(meant.corrected), "%s, and rules read %s", meant.effect, name)
		}
		return true
	}
	return false
}

// findLiteralName finds the name in the literal text of a pattern, where it is not a part of a longer word.
func findLiteralName(p *entity.Pattern, name string, forms literalForms) meantPlaceholder {
	candidates := []string{"{{" + name + "}}", "<" + name + ">", "${{" + name + "}}", "$" + name, ":" + name}
	if forms == anyForm && len(p.Names()) == 0 {
		candidates = append(candidates, name)
	}
	for _, candidate := range candidates {
		before, after, found := strings.Cut(p.String(), candidate)
		if !found {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		isPartOfWord := isWordRune(last) || isWordRune(first) || last == '{'
		if isPartOfWord {
			continue
		}
		effect := "it has no placeholder"
		if strings.HasPrefix(candidate, "{{") {
			effect = "two braces are a brace of the text"
		}
		return meantPlaceholder{candidate, before + "{" + name + "}" + after, effect}
	}
	return meantPlaceholder{}
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// checkPatterns warns of key patterns whose literal text looks like a placeholder. Such a pattern matches only keys
// that contain exactly this text.
func (c *checker) checkPatterns() {
	for _, e := range c.ValueOf(&c.cfg.Entities).All() {
		for _, k := range e.Get("key").All() {
			pattern := yamlbind.As[*entity.Pattern](k)
			if pattern == nil || c.lacksPlaceholder[k] {
				continue
			}
			for _, literal := range pattern.Literals() {
				if found := strings.TrimLeft(foreignPlaceholder.FindString(literal), "#/|"); found != "" {
					c.Warn(k, "write {NAME}, in one pair of braces, for a part that differs", "it matches keys with the text %s",
						yamlbind.Quoted(found))
				}
			}
		}
	}
}

// checkComparedValues checks the values of the keys from and to of a detector. It warns of a text that looks like a
// list or a template, because a detector compares with the text as it is.
func (c *checker) checkComparedValues(detector *value) {
	for _, name := range []string{"from", "to"} {
		compared := detector.Get(name)
		c.checkComparedType(detector, compared)
		text := compared.Text()
		c.WarnIf(strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"), compared,
			"write one value, or a detector with when: 'new.A in [\"X\", \"Y\"]'",
			"the detector compares with the text %s, and reads no list", yamlbind.Quoted(text))
		c.WarnIf(inBraces.MatchString(text), compared, "write the value, or when: 'new.A == old.B' for two attributes",
			"the detector compares with the text %s, and reads no template", yamlbind.Quoted(text))
	}
}

// checkComparedType refuses a value of from or to whose type is not the declared type of the attribute. The number 5
// and the text "5" are never equal.
func (c *checker) checkComparedType(detector, compared *value) {
	isAnyValue := compared.Text() == "*"
	if compared == nil || compared.Env || isAnyValue {
		return
	}
	path := yamlbind.As[item.Path](detector.Get("attribute"))
	kind := c.detectedKind(detector, path)
	text := compared.Node.Value
	switch yamlbind.TypeOf(compared.Node) {
	case yamlbind.IsInteger, yamlbind.IsFloat:
		c.FailIf(kind == item.KindS, compared, "quote it: "+yamlbind.Quoted(text),
			"%s is a number, and %s is declared S: the two are never equal", text, path)
	case yamlbind.IsText:
		c.FailIf(kind == item.KindN, compared, "write a number without quotes",
			"%s is a text, and %s is declared N: the two are never equal", yamlbind.Quoted(text), path)
	}
}

// detectedKind returns the declared type of the attribute at a path that a detector reads. It returns item.Absent if
// the path is not that of a top-level attribute, or if the file does not declare the type.
func (c *checker) detectedKind(detector *value, path item.Path) item.Kind {
	if path.Root() != path.String() || c.isBrokenAt(detector.Field) {
		return item.Absent
	}
	return c.declaredKind(c.scopeAt(detector.Field), path.Root())
}

// checkDates refuses templates that read an attribute as a date if its declared type is neither S nor N.
func (c *checker) checkDates() {
	for _, s := range c.sinks {
		if v := c.ValueOf(s); v != nil && !c.namesBrokenEntity(s) {
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

// checkMembers refuses a detector of set members (added, removed) if the declared type of the attribute is not a set.
// Such a detector never raises an event.
func (c *checker) checkMembers(detector *value) {
	for _, name := range []string{"added", "removed"} {
		attribute := detector.Get(name)
		if attribute == nil {
			continue
		}
		path := yamlbind.As[item.Path](attribute)
		switch kind := c.detectedKind(detector, path); kind {
		case item.Absent, item.KindSS, item.KindNS, item.KindBS:
		default:
			c.Fail(attribute, "name a set, or write changed: PATH", "members are of sets, and %s is declared %s", path, kind)
		}
	}
}

// checkThreshold refuses a threshold (below, above) on an attribute whose declared type is not N. Such a threshold is
// never crossed.
func (c *checker) checkThreshold(detector *value) {
	path := yamlbind.As[item.Path](detector.Get("attribute"))
	kind := c.detectedKind(detector, path)
	hasThreshold := detector.Get("below") != nil || detector.Get("above") != nil
	c.FailIf(hasThreshold && kind != item.Absent && kind != item.KindN, detector.Get("attribute"),
		"name an N, or declare it so", "a threshold is of numbers, and %s is declared %s", path, kind)
}
