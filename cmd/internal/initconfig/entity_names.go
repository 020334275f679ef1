package initconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// nameEntities sets the names of the entities and of the variable parts of their keys.
func nameEntities(entities []*draftEntity) {
	taken := make(map[string]bool)
	for _, e := range entities {
		e.name = e.freeName(taken)
		taken[e.name] = true
		e.nameTokens()
	}
}

// freeName returns a name that is not taken. It makes the name from the last fixed texts in the patterns of the keys.
func (e *draftEntity) freeName(taken map[string]bool) string {
	partitionText, sortText, hasFixedSortKey := pascal(e.key[0].lastText()), "", false
	if len(e.key) > 1 {
		sortText = pascal(e.key[1].lastText())
		isName := func(t token) bool { return t.text == "" }
		hasFixedSortKey = sortText != "" && !slices.ContainsFunc(e.key[1].tokens, isName)
	}
	base := cmp.Or(sortText, partitionText, "Item")
	candidates := []string{base, partitionText + base}
	if partitionText != "" && hasFixedSortKey { // such as META, which says less than the partition key
		both := partitionText + sortText
		candidates = []string{partitionText, both, partitionText + both}
	}
	for _, name := range candidates {
		if !taken[name] {
			return name
		}
	}
	for n := 2; ; n++ {
		if name := fmt.Sprintf("%s%d", base, n); !taken[name] {
			return name
		}
	}
}

// nameTokens names the variable parts of a key, such as UserId after USER#. A name is used twice only if it always
// binds the same value.
func (e *draftEntity) nameTokens() {
	named := make(map[string]token)
	for i := range e.key {
		p := &e.key[i]
		if len(p.tokens) == 0 {
			p.whole = e.takeName(named, cmp.Or(pascal(p.attribute), "Key"), token{})
		}
		textBefore := ""
		for j := range p.tokens {
			t := &p.tokens[j]
			isAlwaysDate := func() bool { return e.all(func(m item.Image) bool { return isDate.MatchString(t.value(m)) }) }
			switch {
			case t.text != "":
				textBefore = pascal(t.text)
			case isAlwaysDate():
				t.name = e.takeName(named, "Date", *t)
			default:
				t.name = e.takeName(named, textBefore+"Id", *t)
			}
		}
	}
}

// takeName adds a name for t to named, and returns it: base, or base with a number if another value has that name.
func (e *draftEntity) takeName(named map[string]token, base string, t token) string {
	name := base
	for n := 2; ; n++ {
		other, taken := named[name]
		if !taken || e.bindSame(t, other) {
			named[name] = t
			return name
		}
		name = fmt.Sprintf("%s%d", base, n)
	}
}

// bindSame reports whether two names always bind the same value.
func (e *draftEntity) bindSame(a, b token) bool {
	return a.value != nil && b.value != nil && e.all(func(m item.Image) bool { return a.value(m) == b.value(m) })
}

func (e *draftEntity) all(holds func(item.Image) bool) bool {
	return !slices.ContainsFunc(e.items, func(m item.Image) bool { return !holds(m) })
}

// pattern returns the pattern as the configuration writes it, such as USER#{UserId}.
func (p keyPart) pattern() string {
	if len(p.tokens) == 0 {
		return "{" + p.whole + "}"
	}
	parts := make([]string, len(p.tokens))
	for i, t := range p.tokens {
		parts[i] = t.text
		if t.text == "" {
			parts[i] = "{" + t.name + "}"
		}
	}
	return strings.Join(parts, p.separator)
}

// pascal returns a text as the name of a type, such as UserProfile for USER_PROFILE, user-profile and userProfile. It
// returns "" for a text without letters.
func pascal(text string) string {
	isSeparator := func(r rune) bool {
		isAlphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !isAlphanumeric
	}
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, isSeparator) {
		rest := word[1:]
		if strings.ToUpper(word) == word {
			rest = strings.ToLower(rest)
		}
		b.WriteString(strings.ToUpper(word[:1]) + rest)
	}
	return strings.TrimLeft(b.String(), "0123456789")
}
