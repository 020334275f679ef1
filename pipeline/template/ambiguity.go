package template

import "github.com/tablewake/tablewake/pipeline"

// alphabet is the set of bytes that a placeholder's text may hold.
type alphabet [4]uint64

func (a alphabet) has(b byte) bool { return a[b>>6]&(1<<(b&63)) != 0 }

func (a *alphabet) remove(b byte) { a[b>>6] &^= 1 << (b & 63) }

func (a *alphabet) add(text string) {
	for i := range len(text) {
		a[text[i]>>6] |= 1 << (text[i] & 63)
	}
}

func anyByte() alphabet { return alphabet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} }

func only(text string) (a alphabet) {
	a.add(text)
	return a
}

const (
	digits  = "0123456789"
	small   = "abcdefghijklmnopqrstuvwxyz"
	capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	plain   = small + capital + digits + "_.-"
	escapes = plain + "%"
)

// alphabet is what the placeholder's text may hold, and its length in bytes
// where that is always the same, else 0.
func (h *placeholder) alphabet() (a alphabet, width int) {
	switch h.source {
	case fromKey:
		a = only(escapes + ",+=!")
	case fromVersion, fromSequence:
		a = only(digits + "k")
	case fromTime:
		a = only(digits + "-T:.Z")
	case fromOperation:
		a = only(capital)
	case fromTable:
		a = only(plain)
	default:
		a = anyByte()
	}
	for _, c := range h.calls {
		a, width = c.alphabet(a, width)
	}
	if h.optional {
		width = 0
	}
	return a, width
}

func (c *call) alphabet(a alphabet, width int) (alphabet, int) {
	switch c.fn {
	case fnLower:
		a.add(small)
	case fnUpper:
		a.add(capital)
	case fnPad:
		a.add("0")
	case fnHash:
		return only(digits + "abcdef"), hashDigits
	case fnEsc:
		return only(escapes), 0
	case fnIndexName:
		return only(small + digits + "_.-"), 0
	case fnDate:
		return only(c.text + small + capital + digits + "+- "), 0
	case fnDefault:
		a.add(c.text)
	case fnBefore, fnSplit:
		if len(c.text) == 1 {
			a.remove(c.text[0])
		}
	case fnAfter:
	}
	return a, 0
}

// objectAlphabet is alphabet for the text of the placeholder in an object key.
func (h *placeholder) objectAlphabet() (alphabet, int) {
	a, _ := h.alphabet()
	b := only(none + "%5F2E")
	if h.escaped() {
		for i := range a {
			b[i] |= a[i]
		}
		return b, 0
	}
	for i := range 256 {
		if c := byte(i); a.has(c) {
			b.add(string(pipeline.AppendEscaped(nil, []byte{c})))
		}
	}
	return b, 0
}

// Ambiguous tells whether two different lists of texts could make the same
// result: two placeholders stand side by side, or the text between them could also stand in both.
func (t *Template) Ambiguous() bool {
	from, to := t.peel((*placeholder).alphabet)
	return to-from > 1
}

// AmbiguousObjectKey is Ambiguous for AppendObjectKey, where every placeholder is escaped.
func (t *Template) AmbiguousObjectKey() bool {
	from, to := t.peel((*placeholder).objectAlphabet)
	return to-from > 1
}

// peel finds the placeholders whose text can be told apart: from the left as long as
// each ends at the literal after it, whose first byte it cannot hold, and from the right
// as long as each begins behind the literal before it. What is left is [from, to);
// a single one can be told apart too.
func (t *Template) peel(alphabet func(*placeholder) (alphabet, int)) (from, to int) {
	to = len(t.holes)
	for ; from < to; from++ {
		next := t.literals[from+1]
		a, width := alphabet(&t.holes[from])
		if width == 0 && (next == "" || a.has(next[0])) {
			break
		}
	}
	for ; to > from; to-- {
		before := t.literals[to-1]
		a, width := alphabet(&t.holes[to-1])
		if width == 0 && (before == "" || a.has(before[len(before)-1])) {
			break
		}
	}
	return from, to
}
