package initconfig

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// separators are the characters that divide a key into parts.
const separators = "#:|/"

var (
	capitals = regexp.MustCompile(`^[A-Z][A-Z_-]*$`)
	letters  = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*$`)
	// usualWhole matches usual sort keys of items that exist once for a partition key. One item is enough to recognise
	// them.
	usualWhole = regexp.MustCompile(
		`^(CONFIG|DATA|DETAILS?|HEADER|INFO|META|METADATA|PROFILE|ROOT|SETTINGS|STATE|STATUS|SUMMARY|TOTALS?)$`)

	isDate = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)
)

const (
	maxPrefixes = 50 // maximum number of prefixes of a key attribute; an attribute with more holds data
	maxInner    = 5  // maximum number of texts between two separators of a key; an attribute with more holds data
	maxEntities = 40 // maximum number of entities in the file
)

// draftEntity is a kind of item: the items whose keys have one form.
type draftEntity struct {
	name    string
	key     []keyPart
	items   []item.Image
	entity  *entity.Entity
	overlap string // another kind whose patterns match some keys of this one; "" if there is none
}

// keyPart is the pattern of a key attribute.
type keyPart struct {
	attribute string
	separator string
	tokens    []token // empty: any value
	whole     string  // the name that binds the whole value
}

// token is a part of a key: a text that all keys have, or a name.
type token struct {
	text  string // "" for a name
	name  string
	value func(m item.Image) string // returns the value of a name
}

// prefixes are the texts at the beginning of a key attribute, or between its separators, that name a kind.
type prefixes map[string]bool

// findPrefixes finds the texts that divide the values of a key attribute into kinds. A text in capitals before a
// separator is one. Other texts are, if few of them begin many values. With sortKey, a whole value is one too if it is
// usual, such as META, or if several items have it. A value of only one item, such as SMITH, can be private.
func findPrefixes(items []item.Image, attribute string, sortKey bool) prefixes {
	first, whole, inner := make(map[string]int), make(map[string]int), make(map[string]int)
	for _, m := range items {
		text, separator := keyText(m, attribute)
		switch parts := splitText(text, separator); {
		case separator != "":
			first[parts[0]]++
			for _, part := range parts[1:] {
				if capitals.MatchString(part) && len(part) > 2 {
					inner[part]++
				}
			}
		case text != "" && sortKey:
			whole[text]++
		}
	}
	found := make(prefixes)
	add := func(counts map[string]int, certain *regexp.Regexp) {
		for text, n := range counts {
			few := letters.MatchString(text) && len(counts) <= max(1, len(items)/10)
			if len(counts) <= maxPrefixes && (certain.MatchString(text) || n > 1 && (few || capitals.MatchString(text))) {
				found[text] = true
			}
		}
	}
	add(first, capitals)
	add(whole, usualWhole)
	for text, n := range inner {
		if len(inner) <= maxInner && n > 1 {
			found[text] = true
		}
	}
	return found
}

// keyText returns the text of a key attribute and the first separator in it; "" for a key of another type.
func keyText(m item.Image, attribute string) (text, separator string) {
	v, _ := m.Get(attribute)
	text, _ = v.Text()
	if i := strings.IndexAny(text, separators); i > 0 {
		separator = text[i : i+1]
	}
	return text, separator
}

func splitText(text, separator string) []string {
	if separator == "" {
		return []string{text}
	}
	return strings.Split(text, separator)
}

// keyForm returns the form of a key attribute: its fixed texts, and ? for the variable parts.
func (p prefixes) keyForm(m item.Image, attribute string) string {
	text, separator := keyText(m, attribute)
	parts := splitText(text, separator)
	if !p[parts[0]] {
		return "?"
	}
	form := parts[0]
	for _, part := range parts[1:] {
		if !p[part] || !capitals.MatchString(part) {
			part = "?"
		}
		form += separator + part
	}
	return form
}

// entitiesOf groups the items by the forms of their keys, larger groups first. It marks overlapping kinds. omitted are
// the kinds with the fewest items, if there are more than maxEntities.
func entitiesOf(items []item.Image, keys []string) (entities, omitted []*draftEntity) {
	found := make([]prefixes, len(keys))
	for i, name := range keys {
		found[i] = findPrefixes(items, name, i > 0)
	}
	byForm := make(map[string][]item.Image)
	for _, m := range items {
		var forms []string
		for i, name := range keys {
			forms = append(forms, shortest(found[i].keyForm(m, name)))
		}
		form := strings.Join(forms, "\x00")
		byForm[form] = append(byForm[form], m)
	}
	for _, form := range slices.Sorted(maps.Keys(byForm)) {
		k := &draftEntity{items: byForm[form]}
		for i, f := range strings.Split(form, "\x00") {
			k.key = append(k.key, partOf(keys[i], f, k.items))
		}
		entities = append(entities, k)
	}
	mostFirst := func(a, b *draftEntity) int { return cmp.Compare(len(b.items), len(a.items)) }
	slices.SortStableFunc(entities, mostFirst)
	n := min(len(entities), maxEntities)
	entities, omitted = entities[:n], entities[n:]
	slices.SortStableFunc(entities, func(a, b *draftEntity) int { return cmp.Compare(b.textCount(), a.textCount()) })
	nameEntities(entities)
	for i, k := range entities {
		k.entity = &entity.Entity{Name: k.name}
		for _, p := range k.key {
			if made, err := entity.ParsePattern(p.pattern()); err == nil {
				k.entity.Key = append(k.entity.Key, entity.KeyPattern{Attribute: p.attribute, Pattern: made})
			}
		}
		for _, o := range entities[:i] {
			if o.overlap == "" && entity.Compare(o.entity, k.entity).Overlap != entity.Disjoint {
				k.overlap = o.name
			}
		}
	}
	slices.SortStableFunc(entities, mostFirst)
	return entities, omitted
}

// shortest returns the form without the names at its end that follow a name, because the last name binds the rest of a
// key.
func shortest(form string) string {
	for _, s := range separators {
		for strings.HasSuffix(form, "?"+string(s)+"?") {
			form = strings.TrimSuffix(form, string(s)+"?")
		}
	}
	return form
}

// partOf returns the pattern of a form. It has additional names if all keys have these parts.
func partOf(attribute, form string, items []item.Image) keyPart {
	p := keyPart{attribute: attribute}
	if form == "?" {
		return p
	}
	if i := strings.IndexAny(form, separators); i > 0 {
		p.separator = form[i : i+1]
	}
	least := 0
	for i, m := range items {
		text, _ := keyText(m, attribute)
		if n := len(splitText(text, p.separator)); i == 0 || n < least {
			least = n
		}
	}
	parts := splitText(form, p.separator)
	for len(parts) < least && parts[len(parts)-1] == "?" {
		parts = append(parts, "?")
	}
	for i, part := range parts {
		t := token{text: part}
		if part == "?" {
			last := i == len(parts)-1
			t = token{value: func(m item.Image) string {
				text, _ := keyText(m, attribute)
				values := strings.SplitN(text, p.separator, i+2)
				if last {
					values = strings.SplitN(text, p.separator, i+1)
				}
				return values[min(i, len(values)-1)]
			}}
		}
		p.tokens = append(p.tokens, t)
	}
	return p
}

// textCount returns the number of texts in the patterns of a kind.
func (k *draftEntity) textCount() int {
	n := 0
	for _, p := range k.key {
		for _, t := range p.tokens {
			if t.text != "" {
				n++
			}
		}
	}
	return n
}

// lastText returns the last text of a pattern; "" if it has none.
func (p keyPart) lastText() string {
	for _, t := range slices.Backward(p.tokens) {
		if t.text != "" {
			return t.text
		}
	}
	return ""
}

// nameEntities names the kinds, and the variable parts of their keys.
func nameEntities(entities []*draftEntity) {
	taken := make(map[string]bool)
	for _, k := range entities {
		first, second := k.key[0].lastText(), ""
		if len(k.key) > 1 {
			second = k.key[1].lastText()
		}
		name := cmp.Or(pascal(second), pascal(first), "Item")
		if first != "" && len(k.key) > 1 && !slices.ContainsFunc(k.key[1].tokens,
			func(t token) bool { return t.text == "" }) {
			if name = pascal(first); taken[name] {
				name += pascal(second)
			}
		}
		if taken[name] {
			name = pascal(first) + name
		}
		for n := 2; taken[name] || name == ""; n++ {
			name = fmt.Sprintf("%s%d", cmp.Or(pascal(second), pascal(first), "Item"), n)
		}
		taken[name], k.name = true, name
		k.nameTokens()
	}
}

// nameTokens names the variable parts of a key, such as UserId after USER#. A name is used twice only if it always
// binds the same value.
func (k *draftEntity) nameTokens() {
	named := make(map[string]token)
	free := func(base string, t token) string {
		name := base
		for n := 2; ; n++ {
			other, taken := named[name]
			if !taken || t.value != nil && other.value != nil &&
				k.all(func(m item.Image) bool { return other.value(m) == t.value(m) }) {
				named[name] = t
				return name
			}
			name = fmt.Sprintf("%s%d", base, n)
		}
	}
	for i := range k.key {
		p := &k.key[i]
		if len(p.tokens) == 0 {
			p.whole = free(cmp.Or(pascal(p.attribute), "Key"), token{})
		}
		of := ""
		for j := range p.tokens {
			t := &p.tokens[j]
			if t.text != "" {
				of = pascal(t.text)
				continue
			}
			base := of + "Id"
			if k.all(func(m item.Image) bool { return isDate.MatchString(t.value(m)) }) {
				base = "Date"
			}
			t.name = free(base, *t)
		}
	}
}

func (k *draftEntity) all(holds func(item.Image) bool) bool {
	return !slices.ContainsFunc(k.items, func(m item.Image) bool { return !holds(m) })
}

// pattern returns the source of a pattern.
func (p keyPart) pattern() string {
	if len(p.tokens) == 0 {
		return "{" + p.whole + "}"
	}
	parts := make([]string, len(p.tokens))
	for i, t := range p.tokens {
		if parts[i] = t.text; t.text == "" {
			parts[i] = "{" + t.name + "}"
		}
	}
	return strings.Join(parts, p.separator)
}

// pascal returns a text as the name of a type: UserProfile for USER_PROFILE, user-profile and userProfile.
func pascal(text string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		rest := word[1:]
		if strings.ToUpper(word) == word {
			rest = strings.ToLower(rest)
		}
		b.WriteString(strings.ToUpper(word[:1]) + rest)
	}
	return strings.TrimLeft(b.String(), "0123456789")
}
