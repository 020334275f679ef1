package ddbjson

import "encoding/binary"

// previousMap holds the text of a nested map of scalars, without the values. Consecutive maps often have the same names
// and types, such as the addresses or the lines of orders. So one comparison checks all the text between two values.
//
// This is only a prediction: a map that does not match is scanned again from its start. A map with nested maps is never
// stored, because its parts could be scanned three times. Without the prediction, decoding takes 1.06 times as long
// (BenchmarkDecoder of package record, which has three such maps in an image).
type previousMap struct {
	start  uint64 // first eight bytes after the brace, which precede every value; 0 if the slot is free
	misses int    // maps since the last match
	text   []byte // copy of the text before, between and after the values
	values []mapValue
}

// mapValue is a value that a previousMap leaves out.
type mapValue struct {
	textEnd uint16 // end of the text before the value
	tag     Tag
}

// previousMaps has one slot for each hash of a map's first bytes.
type previousMaps [1 << mapHashBits]previousMap

const (
	mapHashBits = 5
	maxMapText  = 1 << 14 // bytes of text; a map with more text is not stored
)

// slot returns the slot of the maps that start with the eight bytes w.
func (ms *previousMaps) slot(w uint64) *previousMap {
	return &ms[w*0x9e3779b97f4a7c15>>(64-mapHashBits)]
}

// nestedMap does the same as the method members, for a map inside an item. It first tries to match the map with a
// previous map.
func (s *Scanner) nestedMap(i, depth int) int {
	b, base := s.Input, len(s.stack)
	hasEightBytes := uint(i)+9 <= uint(len(b)) // after the brace
	canPredict := s.maps != nil && !s.grammarOnly && depth <= maxNesting && hasEightBytes
	if !canPredict {
		return s.members(i, depth)
	}
	start := binary.LittleEndian.Uint64(b[i+1:])
	previous := s.maps.slot(start)
	if start != 0 && previous.start == start {
		if next := s.matchMap(previous, i); next >= 0 {
			previous.misses = 0
			return next
		}
	}
	next := s.members(i, depth)
	if next >= 0 {
		s.keepMap(previous, s.stack[base:], i, next)
	}
	return next
}

// matchMap returns the position after the map at i if the map matches m, or -1.
func (s *Scanner) matchMap(m *previousMap, i int) int {
	textStart := 0
	for _, v := range m.values {
		textEnd := int(v.textEnd)
		if i = s.matchText(i, m.text[textStart:textEnd]); i < 0 {
			return -1
		}
		textStart = textEnd
		switch v.tag {
		case TagS:
			i = s.Text(i)
		case TagN:
			i = s.number(i)
		case TagB:
			i = s.base64(i)
		default: // TagBOOL
			i = s.readBool(i)
		}
		if i < 0 {
			return -1
		}
	}
	return s.matchText(i, m.text[textStart:])
}

// matchText returns the position after text if the input has text at i, or -1.
func (s *Scanner) matchText(i int, text []byte) int {
	if end := i + len(text); end <= len(s.Input) && string(s.Input[i:end]) == string(text) {
		return end
	}
	return -1
}

// keepMap stores the checked map from i to next, with the index attrs, in the slot m. If maps with different texts have
// the same slot, the more frequent text stays in the slot, because a new map replaces it only after two misses in a
// row.
func (s *Scanner) keepMap(m *previousMap, attrs []Attr, i, next int) {
	m.misses++
	isOccupied := m.start != 0 && m.misses < 2
	if isOccupied || len(attrs) == 0 {
		return
	}
	for _, a := range attrs {
		if a.Tag() > TagNULL || a.Far() {
			return
		}
	}
	// The slot stays free if the text is too long.
	m.start, m.misses, m.text, m.values = 0, 0, m.text[:0], m.values[:0]
	doc, docPos := s.Input[s.origin:next], i-s.origin
	for n, a := range attrs {
		if a.Tag() == TagNULL { // the content is always true, so it is part of the text
			continue
		}
		_, _, from, to := AttrAt(doc, attrs, n)
		if len(m.text)+from-docPos > maxMapText {
			return
		}
		m.text = append(m.text, doc[docPos:from]...)
		m.values = append(m.values, mapValue{uint16(len(m.text)), a.Tag()})
		docPos = to
	}
	if len(m.text)+len(doc)-docPos <= maxMapText {
		m.text = append(m.text, doc[docPos:]...)
		m.start = binary.LittleEndian.Uint64(s.Input[i+1:])
	}
}
