package template

import "github.com/tablewake/tablewake/pipeline/item"

// alphabet is the set of bytes that the text of a placeholder can contain.
type alphabet [4]uint64

func (a alphabet) has(b byte) bool { return a[b>>6]&(1<<(b&63)) != 0 }

func (a *alphabet) remove(b byte) { a[b>>6] &^= 1 << (b & 63) }

func (a *alphabet) add(text string) {
	for i := range len(text) {
		a[text[i]>>6] |= 1 << (text[i] & 63)
	}
}

func anyByte() alphabet { return alphabet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} }

func bytesOf(text string) (a alphabet) {
	a.add(text)
	return a
}

const (
	digits    = "0123456789"
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	plain     = lowerCase + upperCase + digits + "_.-"
	escapes   = plain + "%"
)

// alphabet returns the bytes that the placeholder's text can contain. width is the length of the text in bytes if all
// texts of the placeholder have the same length, else 0.
func (h *placeholder) alphabet() (a alphabet, width int) {
	switch h.source {
	case fromKey:
		a = bytesOf(escapes + ",+=!")
	case fromVersion, fromSequence:
		a = bytesOf(digits + "k")
	case fromShard:
		a = bytesOf(digits)
	case fromTime:
		a = bytesOf(digits + "-T:.Z")
	case fromOperation:
		a = bytesOf(upperCase)
	case fromTable, fromEntity:
		a = bytesOf(plain)
	case fromIdentity:
		a = bytesOf(escapes)
	case fromBound:
		a = anyByte()
		for _, b := range []byte(h.bound.EndByte()) {
			a.remove(b)
		}
	default:
		a = anyByte()
	}
	for _, c := range h.calls {
		a, width = c.alphabet(a)
	}
	if h.optional {
		width = 0
	}
	return a, width
}

func (c *call) alphabet(a alphabet) (alphabet, int) {
	switch c.fn {
	case fnLower:
		a.add(lowerCase)
	case fnUpper:
		a.add(upperCase)
	case fnPad:
		a.add("0.")
	case fnSortable:
		return bytesOf(digits + "-~"), 0
	case fnHash:
		return bytesOf(digits + "abcdef"), hashDigits
	case fnEsc:
		return bytesOf(escapes), 0
	case fnIndexName:
		return bytesOf(lowerCase + digits + "_.-"), 0
	case fnDate:
		return bytesOf(c.text + lowerCase + upperCase + digits + "+- "), 0
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

// objectAlphabet does the same as alphabet, for the placeholder's text in an object key.
func (h *placeholder) objectAlphabet() (alphabet, int) {
	a, _ := h.alphabet()
	b := bytesOf(missingText + "%5F2E")
	if h.escaped() {
		for i := range a {
			b[i] |= a[i]
		}
		return b, 0
	}
	for i := range 256 {
		if c := byte(i); a.has(c) {
			b.add(string(item.AppendEscaped(nil, []byte{c})))
		}
	}
	return b, 0
}

// Ambiguous reports whether two different lists of values could have the same result. This is possible if two
// placeholders are adjacent, or if the texts of both can contain the literal between them.
func (t *Template) Ambiguous() bool {
	return t.ambiguousRange((*placeholder).alphabet).isAmbiguous()
}

// AmbiguousObjectKey does the same as Ambiguous, for AppendObjectKey, which escapes every placeholder.
func (t *Template) AmbiguousObjectKey() bool {
	return t.ambiguousRange((*placeholder).objectAlphabet).isAmbiguous()
}

// AmbiguousRawObjectKey does the same as Ambiguous, for AppendRawObjectKey, which writes _none for missing values.
func (t *Template) AmbiguousRawObjectKey() bool {
	rawAlphabet := func(h *placeholder) (alphabet, int) {
		a, _ := h.alphabet()
		a.add(missingText)
		return a, 0
	}
	return t.ambiguousRange(rawAlphabet).isAmbiguous()
}

// placeholderRange is the range [from, to) of neighboring placeholders whose texts can run together. No literal around
// them shows where one text ends and the next begins.
type placeholderRange struct{ from, to int }

// isAmbiguous reports whether the range has several placeholders. The text of a single one can still be separated,
// because it is the rest of the result.
func (r placeholderRange) isAmbiguous() bool { return r.to-r.from > 1 }

// canSeparate reports whether the text of placeholder i can be separated from the texts of all others.
func (r placeholderRange) canSeparate(i int) bool {
	isInRange := r.from <= i && i < r.to
	return !isInRange || !r.isAmbiguous()
}

// ambiguousRange returns the placeholders whose texts cannot be separated. From the left, a text ends at the next
// literal if the text cannot contain the literal's first byte. From the right, a text begins after the previous literal
// if the text cannot contain the literal's last byte.
func (t *Template) ambiguousRange(alphabet func(*placeholder) (alphabet, int)) placeholderRange {
	from, to := 0, len(t.placeholders)
	for ; from < to; from++ {
		next := t.literals[from+1]
		a, width := alphabet(&t.placeholders[from])
		hasCertainEnd := width > 0 || next != "" && !a.has(next[0])
		if !hasCertainEnd {
			break
		}
	}
	for ; to > from; to-- {
		previous := t.literals[to-1]
		a, width := alphabet(&t.placeholders[to-1])
		hasCertainStart := width > 0 || previous != "" && !a.has(previous[len(previous)-1])
		if !hasCertainStart {
			break
		}
	}
	return placeholderRange{from, to}
}
