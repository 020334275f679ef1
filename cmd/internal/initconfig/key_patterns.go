package initconfig

import (
	"cmp"
	"maps"
	"math"
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
	// usualWhole matches sort keys that usually exist once for each partition key, such as META. One item is enough to
	// recognise such a sort key.
	usualWhole = regexp.MustCompile(
		`^(CONFIG|DATA|DETAILS?|HEADER|INFO|META|METADATA|PROFILE|ROOT|SETTINGS|STATE|STATUS|SUMMARY|TOTALS?)$`)

	isDate = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}`)
)

const (
	maxPrefixes = 50 // maximum number of prefixes of a key attribute; more are values, not names of entities
	maxInner    = 5  // maximum number of fixed texts between separators of a key; more are values
	maxEntities = 40 // maximum number of entities in the file
)

// draftEntity is an entity of the draft. Its items have keys of the same form, such as USER#? with PROFILE.
type draftEntity struct {
	name    string
	key     []keyPart
	items   []item.Image
	entity  *entity.Entity
	overlap string // name of another entity whose patterns match some keys of this entity; "": none
}

// keyPart is the pattern of one key attribute.
type keyPart struct {
	attribute string
	separator string
	tokens    []token // parts of the pattern; empty: any value
	whole     string  // without tokens: the name that binds the whole value
}

// token is a part of a key between separators. It is a text that all keys of the entity have, or a name for the values
// that differ.
type token struct {
	text  string // "" for a name
	name  string
	value func(m item.Image) string // of a name: returns the value that the name has in an item
}

// prefixes are the texts in a key attribute that name an entity, such as USER in USER#12. They are at the beginning or
// between separators.
type prefixes map[string]bool

// findPrefixes returns the texts that divide the values of a key attribute into entities. A text in capitals before the
// first separator is a prefix. Another text before it is a prefix if few different texts begin many values. With
// sortKey, a whole value is a prefix if it is usual, such as META, or if several items have it. A value of only one
// item is not a prefix, because it can be private, such as SMITH. Between separators, a text in capitals is a prefix if
// several items have it.
func findPrefixes(items []item.Image, attribute string, sortKey bool) prefixes {
	counts := countTexts(items, attribute)
	found := make(prefixes)
	found.addFrequent(counts.first, capitals, len(items))
	if sortKey {
		found.addFrequent(counts.whole, usualWhole, len(items))
	}
	if len(counts.inner) > maxInner {
		return found
	}
	for text, n := range counts.inner {
		if n > 1 {
			found[text] = true
		}
	}
	return found
}

// textCounts counts the texts in the values of a key attribute. first has the texts before the first separator, and
// inner the texts in capitals after it. whole has the values without a separator.
type textCounts struct{ first, inner, whole map[string]int }

// countTexts counts the texts in the values of a key attribute.
func countTexts(items []item.Image, attribute string) textCounts {
	counts := textCounts{make(map[string]int), make(map[string]int), make(map[string]int)}
	for _, m := range items {
		switch text, separator := keyText(m, attribute); {
		case separator != "":
			counts.addParts(strings.Split(text, separator))
		case text != "":
			counts.whole[text]++
		}
	}
	return counts
}

// addParts counts the parts of a value between its separators.
func (c textCounts) addParts(parts []string) {
	c.first[parts[0]]++
	for _, part := range parts[1:] {
		if capitals.MatchString(part) && len(part) > 2 {
			c.inner[part]++
		}
	}
}

// addFrequent adds the texts in counts that pattern matches, and the names that several items have. It adds nothing if
// counts has more than maxPrefixes texts. items is the number of all items.
func (p prefixes) addFrequent(counts map[string]int, pattern *regexp.Regexp, items int) {
	if len(counts) > maxPrefixes {
		return
	}
	areFew := len(counts) <= max(1, items/10)
	for text, count := range counts {
		isName := capitals.MatchString(text) || areFew && letters.MatchString(text)
		isFrequentName := isName && count > 1
		if isFrequentName || pattern.MatchString(text) {
			p[text] = true
		}
	}
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

// keyForm returns the form of a key attribute, which has ? for each variable part. The form of USER#12 is USER#?.
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

// findEntities groups the items by the forms of their keys, larger groups first. It marks overlapping entities. If
// there are more than maxEntities entities, omitted has those with the fewest items.
func findEntities(items []item.Image, keys []string) (entities, omitted []*draftEntity) {
	entities = groupByForm(items, keys)
	mostItemsFirst := func(a, b *draftEntity) int { return cmp.Compare(len(b.items), len(a.items)) }
	slices.SortStableFunc(entities, mostItemsFirst)
	n := min(len(entities), maxEntities)
	entities, omitted = entities[:n], entities[n:]
	// The patterns with the most texts come first: if two entities overlap, the later one is marked.
	slices.SortStableFunc(entities, func(a, b *draftEntity) int { return cmp.Compare(b.textCount(), a.textCount()) })
	nameEntities(entities)
	markOverlaps(entities)
	slices.SortStableFunc(entities, mostItemsFirst)
	return entities, omitted
}

// markOverlaps sets the patterns of the entities. It marks each entity that overlaps with an earlier one that is not
// marked.
func markOverlaps(entities []*draftEntity) {
	for i, e := range entities {
		e.setEntity()
		for _, earlier := range entities[:i] {
			if earlier.overlap == "" && entity.Compare(earlier.entity, e.entity).Overlap != entity.Disjoint {
				e.overlap = earlier.name
			}
		}
	}
}

// setEntity sets the entity with the patterns of the keys.
func (e *draftEntity) setEntity() {
	e.entity = &entity.Entity{Name: e.name}
	for _, p := range e.key {
		if pattern, err := entity.ParsePattern(p.pattern()); err == nil {
			e.entity.Key = append(e.entity.Key, entity.KeyPattern{Attribute: p.attribute, Pattern: pattern})
		}
	}
}

// groupByForm returns an entity for each form of keys, sorted by form.
func groupByForm(items []item.Image, keys []string) (entities []*draftEntity) {
	keyPrefixes := make([]prefixes, len(keys))
	for i, name := range keys {
		isSortKey := i > 0
		keyPrefixes[i] = findPrefixes(items, name, isSortKey)
	}
	byForm := make(map[string][]item.Image)
	for _, m := range items {
		var forms []string
		for i, name := range keys {
			forms = append(forms, shortest(keyPrefixes[i].keyForm(m, name)))
		}
		form := strings.Join(forms, "\x00")
		byForm[form] = append(byForm[form], m)
	}
	for _, form := range slices.Sorted(maps.Keys(byForm)) {
		e := &draftEntity{items: byForm[form]}
		for i, f := range strings.Split(form, "\x00") {
			e.key = append(e.key, newKeyPart(keys[i], f, e.items))
		}
		entities = append(entities, e)
	}
	return entities
}

// shortest returns the form with only one variable part at its end: USER#? for USER#?#?. One is enough, because the
// last name of a pattern binds the rest of a key.
func shortest(form string) string {
	for _, s := range separators {
		for strings.HasSuffix(form, "?"+string(s)+"?") {
			form = strings.TrimSuffix(form, string(s)+"?")
		}
	}
	return form
}

// newKeyPart returns the pattern of a form. It has a name for each variable part.
func newKeyPart(attribute, form string, items []item.Image) keyPart {
	p := keyPart{attribute: attribute}
	if form == "?" {
		return p
	}
	if i := strings.IndexAny(form, separators); i > 0 {
		p.separator = form[i : i+1]
	}
	parts := p.formParts(form, items)
	for i, part := range parts {
		if part != "?" {
			p.tokens = append(p.tokens, token{text: part})
			continue
		}
		maxParts := i + 2 // those before i, part i, and the rest of the key
		if isLast := i == len(parts)-1; isLast {
			maxParts = i + 1 // part i is the rest of the key
		}
		p.tokens = append(p.tokens, token{value: p.partValue(i, maxParts)})
	}
	return p
}

// formParts returns the parts of a form. If all keys have more parts than the form, it adds a ? for each of these.
func (p keyPart) formParts(form string, items []item.Image) []string {
	parts := splitText(form, p.separator)
	fewestParts := p.fewestParts(items)
	for len(parts) < fewestParts && parts[len(parts)-1] == "?" {
		parts = append(parts, "?")
	}
	return parts
}

// fewestParts returns the number of parts of the key that has the fewest.
func (p keyPart) fewestParts(items []item.Image) int {
	fewest := math.MaxInt
	for _, m := range items {
		text, _ := keyText(m, p.attribute)
		fewest = min(fewest, len(splitText(text, p.separator)))
	}
	return fewest
}

// partValue returns the function that splits an item's key into at most maxParts parts, and returns part i.
func (p keyPart) partValue(i, maxParts int) func(item.Image) string {
	return func(m item.Image) string {
		text, _ := keyText(m, p.attribute)
		values := strings.SplitN(text, p.separator, maxParts)
		return values[min(i, len(values)-1)]
	}
}

// textCount returns the number of texts in the patterns of an entity.
func (e *draftEntity) textCount() int {
	n := 0
	for _, p := range e.key {
		for _, t := range p.tokens {
			if t.text != "" {
				n++
			}
		}
	}
	return n
}

// lastText returns the last fixed text of a pattern; "" if the pattern has none.
func (p keyPart) lastText() string {
	for _, t := range slices.Backward(p.tokens) {
		if t.text != "" {
			return t.text
		}
	}
	return ""
}
