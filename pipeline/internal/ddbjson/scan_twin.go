package ddbjson

import "github.com/tablewake/tablewake/pipeline/internal/simd"

// twin is an item that the item being scanned is likely to resemble: of a record's
// second image the first one, from which it differs in a few values as a rule; of its
// first one that of the record before, whose attributes have the same names and types
// as a rule. What equals bytes that were checked is as sound as they are.
//
// It is a guess: where the two part, attributes are scanned as if there were none.
type twin struct {
	doc     []byte
	attrs   []Attr
	next    int  // index of the attribute that is expected; behind the last: none
	same    int  // bytes from that attribute's quote on that are the same in both
	misses  int  // attributes that were not where they were expected
	ordered bool // all names so far are the twin's in its order, so that none stands twice
}

// follow makes the item of these bytes and this index the twin of the item that is scanned next.
func (t *twin) follow(doc []byte, attrs []Attr) {
	t.doc, t.attrs = doc, attrs // one by one: a struct with pointers is copied by a call while memory is collected
	t.next, t.same, t.misses, t.ordered = 0, 0, 0, true
}

// manyMisses is how many attributes may be elsewhere before the guess is given up.
const manyMisses = 4

// share takes over the attributes from i on that are the twin's byte for byte, up to
// the first that differs, and returns where that one starts. i is at the quote of an
// attribute's name. Where all that is left is the same, end is true, and the position is
// the one behind the item.
func (s *Scanner) share(i int) (next int, end bool) {
	t := &s.twin
	from := t.attrs[t.next].Name() - 1
	same := simd.Same(s.B[i:], t.doc[from:])
	shift := Attr(i-s.origin-from) << attrName // modulo 2^32, as it may be less than zero
	start, last := from, len(t.attrs)-1
	// Where the quote of the next name is the same, so is all that stands before it.
	for t.next < last && t.attrs[t.next+1].Name() <= from+same {
		s.Stack = append(s.Stack, t.attrs[t.next]+shift)
		t.next++
		start = t.attrs[t.next].Name() - 1
	}
	if same == len(t.doc)-from {
		s.Stack = append(s.Stack, t.attrs[last]+shift)
		t.next++
		return i + same, true
	}
	t.same = same - (start - from)
	return i + start - from, false
}

// met notes the name of an attribute that was scanned, and finds out where the twin
// goes on.
func (t *twin) met(name []byte) {
	for n := t.next; n < min(t.next+manyMisses, len(t.attrs)); n++ {
		if string(t.attrs[n].RawName(t.doc)) == string(name) {
			t.next = n + 1
			return
		}
	}
	t.ordered = false
	if t.misses++; t.misses == manyMisses {
		t.next = len(t.attrs)
	}
}
