package ddbjson

import "github.com/tablewake/tablewake/pipeline/internal/simd"

// previousImage is an item that the scanned item probably resembles: the other image of the same record, or the same
// image of the previous record. The two images of a record differ in a few values; consecutive records have the same
// attribute names and types. Bytes that equal checked bytes need no check.
//
// This is a prediction: members scans the attributes in which the two items differ. Without the prediction, decoding
// takes 1.95 times as long (BenchmarkDecoder of package record).
type previousImage struct {
	doc        []byte
	attrs      []Attr
	next       int  // index of the expected attribute; len(attrs) if none is expected
	equalBytes int  // number of bytes equal to doc, counted from the opening quote of the expected attribute's name
	misses     int  // number of attributes that align did not find
	ordered    bool // all names so far came from doc, in its order, so there is no duplicate
}

// start begins the scan of an item. doc and attrs are the item to compare it with, and its index; both are nil if there
// is none.
func (p *previousImage) start(doc []byte, attrs []Attr) {
	p.doc, p.attrs = doc, attrs // not one struct: while the GC runs, a call copies a struct with pointers
	p.next, p.equalBytes, p.misses, p.ordered = 0, 0, 0, true
}

const (
	maxMisses   = 4 // number of misses that ends the prediction for the item
	alignWindow = 4 // number of attributes, from the expected one on, that align compares with a name
)

// hasNext reports whether an attribute is expected next.
func (p *previousImage) hasNext() bool { return p.next < len(p.attrs) }

// takeEqual indexes the attributes from i on that are identical to those of the previous image. i is the position of a
// name's opening quote. takeEqual returns the position of the opening quote of the first name whose attribute differs.
// If the whole rest of the item is identical, end is true and next is the position after the item.
//
// i, next and s.origin are positions in the input, docStart and docPos are positions in p.doc, and p.next and last are
// indexes of attributes.
func (s *Scanner) takeEqual(i int) (next int, end bool) {
	p := &s.previous
	docStart := p.attrs[p.next].NameStart() - 1
	equal := simd.EqualPrefix(s.Input[i:], p.doc[docStart:])
	shift := Attr(i-s.origin-docStart) << attrName // modulo 2^32: it may be negative
	docPos, last := docStart, len(p.attrs)-1
	// The next name's quote must be equal, too. Then the whole attribute before it is identical.
	for p.next < last && p.attrs[p.next+1].NameStart() <= docStart+equal {
		s.stack = append(s.stack, p.attrs[p.next]+shift)
		p.next++
		docPos = p.attrs[p.next].NameStart() - 1
	}
	if equal == len(p.doc)-docStart {
		s.stack = append(s.stack, p.attrs[last]+shift)
		p.next++
		return i + equal, true
	}
	p.equalBytes = equal - (docPos - docStart)
	return i + docPos - docStart, false
}

// expectedHead returns the head of the member at i, as [Scanner.memberHead] does, if it equals the head of the expected
// attribute. Otherwise the tag is NoTag.
func (p *previousImage) expectedHead(i int) (nameEnd, content int, tag Tag, escaped bool) {
	a := p.attrs[p.next]
	if a.Far() || p.equalBytes <= a.NameLen()+a.Gap() {
		return 0, 0, NoTag, false
	}
	p.next++
	nameEnd = i + 1 + a.NameLen()
	content = nameEnd + a.Gap()
	if a.Tag() <= TagB {
		content-- // the quote
	}
	return nameEnd, content, a.Tag(), a.escaped()
}

// align finds the name of a scanned attribute in doc, and makes its successor the expected attribute.
func (p *previousImage) align(name []byte) {
	for n := p.next; n < min(p.next+alignWindow, len(p.attrs)); n++ {
		if string(p.attrs[n].RawName(p.doc)) == string(name) {
			p.next = n + 1
			return
		}
	}
	p.ordered = false
	if p.misses++; p.misses == maxMisses {
		p.next = len(p.attrs)
	}
}
