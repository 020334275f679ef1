package ddbjson

import "encoding/binary"

// shape is what the maps of scalars within items that begin with the same name have in
// common as a rule: all but the values. An address, or a line of an order, has the names and
// types of the one before, and one comparison checks all that stands between two values.
//
// Like a twin it is a guess: a map that turns out to be another is scanned from its start as
// if there were none. It holds no map, so that nothing is scanned a third time.
type shape struct {
	start  uint64 // the map's first bytes behind its brace: never within a value
	misses int    // maps since the last one of this shape
	text   []byte // what stands before, between and behind the values; a copy
	values []shapeValue
}

// shapeValue is a value that a shape leaves open.
type shapeValue struct {
	text uint16 // the end of what stands before it in the shape's text
	tag  Tag
}

// Shapes are the Shapes of the maps that were read last, each at a place that its start says.
type Shapes [1 << shapeBits]shape

const (
	shapeBits    = 5
	longestShape = 1 << 14 // bytes of text: a shape of more is not kept
)

// at is the place of the shape that starts with w.
func (s *Shapes) at(w uint64) *shape { return &s[w*0x9e3779b97f4a7c15>>(64-shapeBits)] }

// inner reads a map within an item, as members does.
func (s *Scanner) inner(i, depth int) int {
	b, base := s.B, len(s.Stack)
	if s.Shapes == nil || s.lax || depth > maxNesting || uint(i)+9 > uint(len(b)) {
		return s.members(i, depth)
	}
	start := binary.LittleEndian.Uint64(b[i+1:])
	sh := s.Shapes.at(start)
	if start != 0 && sh.start == start {
		if next := s.known(sh, i); next >= 0 {
			sh.misses = 0
			return next
		}
	}
	next := s.members(i, depth)
	if next >= 0 {
		s.learn(sh, s.Stack[base:], i, next)
	}
	return next
}

// known is the position behind the map at i, where that has the shape, or else -1.
func (s *Scanner) known(sh *shape, i int) int {
	at := 0
	for _, v := range sh.values {
		if i = s.literally(i, sh.text[at:v.text]); i < 0 {
			return -1
		}
		switch at = int(v.text); v.tag {
		case TagS:
			i = s.Text(i)
		case TagN:
			i = s.number(i)
		case TagB:
			i = s.base64(i)
		default: // tagBOOL
			i = s.literal(i)
		}
		if i < 0 {
			return -1
		}
	}
	return s.literally(i, sh.text[at:])
}

// literally is the position behind text, where that stands at i, or else -1.
func (s *Scanner) literally(i int, text []byte) int {
	if end := i + len(text); end <= len(s.B) && string(s.B[i:end]) == string(text) {
		return end
	}
	return -1
}

// learn makes sh the shape of the map from i to next, which is sound and whose members are as.
// Where maps of two shapes have one place, the more frequent keeps it.
func (s *Scanner) learn(sh *shape, as []Attr, i, next int) {
	if sh.misses++; len(as) == 0 || sh.start != 0 && sh.misses < 2 {
		return
	}
	for _, a := range as {
		if a.Tag() > TagNULL || a.Far() {
			return
		}
	}
	sh.start, sh.misses, sh.text, sh.values = 0, 0, sh.text[:0], sh.values[:0]
	doc, at := s.B[s.origin:next], i-s.origin
	for n, a := range as {
		if a.Tag() == TagNULL { // it has one value only
			continue
		}
		_, _, from, to := PlacesOf(doc, as, n)
		if len(sh.text)+from-at > longestShape {
			return
		}
		sh.text = append(sh.text, doc[at:from]...)
		sh.values = append(sh.values, shapeValue{uint16(len(sh.text)), a.Tag()})
		at = to
	}
	if len(sh.text)+len(doc)-at <= longestShape {
		sh.text = append(sh.text, doc[at:]...)
		sh.start = binary.LittleEndian.Uint64(s.B[i+1:])
	}
}
