package template

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
)

// textDeterminesValue reports whether two different values of a placeholder always have different texts. It returns
// true for {@key}, {@each}, {path|esc}, and for a {path} that is the whole template.
func (t *Template) textDeterminesValue(h *placeholder) bool {
	if h.optional {
		return false
	}
	switch h.source {
	case fromKey, fromIdentity:
		return len(h.calls) == 0 || h.onlyEscapes()
	case fromItem:
		return t.wholeValue() != nil || h.onlyEscapes()
	}
	return false
}

// BoundNames returns the bound names whose whole text can be cut out of a result. A bound name is a name that an
// entity's key binds. Two results differ if the text of one of these names differs.
func (t *Template) BoundNames() []string {
	ambiguous := t.ambiguousRange((*placeholder).alphabet)
	var names []string
	for i := range t.placeholders {
		h := &t.placeholders[i]
		if h.source != fromBound || h.optional || !ambiguous.canSeparate(i) {
			continue
		}
		changesText := slices.ContainsFunc(h.calls, func(c call) bool { return c.fn != fnEsc && c.fn != fnIndexName })
		if !changesText {
			names = append(names, h.bound.Name())
		}
	}
	return names
}

// cuttableIndexes returns the indexes of the placeholders whose values can be cut out of a result.
func (t *Template) cuttableIndexes() []int {
	ambiguous := t.ambiguousRange((*placeholder).alphabet)
	var indexes []int
	for i := range t.placeholders {
		if ambiguous.canSeparate(i) && t.textDeterminesValue(&t.placeholders[i]) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// HasKey reports whether the template has a {@key} that can be cut out of a result.
func (t *Template) HasKey() bool { return t.cuttableNames(fromKey) != nil }

// HasIdentity reports whether the template has an {@each} that can be cut out of a result.
func (t *Template) HasIdentity() bool { return t.cuttableNames(fromIdentity) != nil }

// ReadsIdentity reports whether the template reads {@each}.
func (t *Template) ReadsIdentity() bool { return t.reads(fromIdentity) }

// EscPaths returns the item paths whose values can be cut out of a result. A path with |esc is one of them if the end
// of its text is certain. If the template is exactly one {path}, this path is one of them, too.
func (t *Template) EscPaths() []string { return t.cuttableNames(fromItem) }

// cuttableNames returns the names of the placeholders whose source equals from. It leaves out placeholders whose values
// cannot be cut out of a result.
func (t *Template) cuttableNames(from source) (names []string) {
	for _, i := range t.cuttableIndexes() {
		if t.placeholders[i].source == from {
			names = append(names, t.placeholders[i].name)
		}
	}
	return names
}

// Cut reverses AppendText. It returns the text of each path that EscPaths returns. It also returns the canonical key as
// "@key" if HasKey is true, and the escaped identity as "@each" if HasIdentity is true. It returns false if the
// template cannot have made result.
func (t *Template) Cut(result string) (map[string]string, bool) {
	texts, ok := t.splitResult(result)
	if !ok {
		return nil, false
	}
	cut := make(map[string]string)
	for _, i := range t.cuttableIndexes() {
		h := &t.placeholders[i]
		text := texts[i]
		if len(h.calls) > 0 {
			var err error
			if text, err = item.Unescape(text); err != nil {
				return nil, false
			}
		}
		if before, ok := cut[h.name]; ok && before != text {
			return nil, false
		}
		cut[h.name] = text
	}
	return cut, true
}

// splitResult splits a result into the texts of the placeholders. It returns "" for a text that cannot be separated,
// and false if the template cannot have made result.
func (t *Template) splitResult(result string) ([]string, bool) {
	n := len(t.placeholders)
	texts := make([]string, n)
	rest, ok := strings.CutPrefix(result, t.literals[0])
	if n == 0 {
		return texts, ok && rest == ""
	}
	if ok {
		rest, ok = strings.CutSuffix(rest, t.literals[n])
	}
	// The texts of the placeholders middle are what remains after the texts on both sides are cut.
	middle := t.ambiguousRange((*placeholder).alphabet)
	if middle.from == middle.to { // every text can be cut, so any single one can remain
		middle.from = min(middle.from, n-1)
		middle.to = middle.from + 1
	}
	for i := 0; ok && i < middle.from; i++ {
		texts[i], rest, ok = t.placeholders[i].cutLeft(rest, t.literals[i+1])
	}
	for i := n - 1; ok && i >= middle.to; i-- {
		texts[i], rest, ok = t.placeholders[i].cutRight(rest, t.literals[i])
	}
	if !middle.isAmbiguous() {
		texts[middle.from] = rest
	}
	return texts, ok
}

// cutLeft cuts the placeholder's text and the literal after it from the left of s.
func (h *placeholder) cutLeft(s, literal string) (text, rest string, ok bool) {
	_, width := h.alphabet()
	if width == 0 {
		width = strings.IndexByte(s, literal[0])
	}
	if width < 0 || width > len(s) {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(s[width:], literal)
	return s[:width], rest, ok
}

// cutRight cuts the placeholder's text and the literal before it from the right of s.
func (h *placeholder) cutRight(s, literal string) (text, rest string, ok bool) {
	_, width := h.alphabet()
	begin := len(s) - width
	if width == 0 {
		lastOfLiteral := literal[len(literal)-1]
		begin = strings.LastIndexByte(s, lastOfLiteral) + 1
	}
	if begin < 0 {
		return "", "", false
	}
	rest, ok = strings.CutSuffix(s[:begin], literal)
	return s[begin:], rest, ok
}
