package ddbjson

import "github.com/tablewake/tablewake/pipeline/internal/simd"

// previousImage is an item that the scanned item probably resembles. It is the other image of the same record, or an
// image of the previous record. The two images of a record differ in a few values. Two consecutive records often have
// the same attribute names and types. The previous image was checked, so bytes that equal its bytes need no check.
//
// This is only a prediction: Scanner.members scans the attributes in which the two items differ. Without the
// prediction, decoding takes 1.95 times as long (BenchmarkDecoder of package record).
type previousImage struct {
	doc        []byte
	attrs      []Attr
	next       int  // index of the attribute that is expected next; len(attrs) if no attribute is expected
	equalBytes int  // number of bytes that are equal in both items, from the expected attribute's first quote on
	misses     int  // number of attributes that align did not find
	ordered    bool // all names so far are from doc, in the same order, so no name is a duplicate
}

// start begins the scan of an item. doc is the item to compare it with, and attrs is the index of doc. Both are nil if
// there is no item to compare with.
func (p *previousImage) start(doc []byte, attrs []Attr) {
	p.doc, p.attrs = doc, attrs // not one struct: while the GC runs, copying a struct with pointers takes a call
	p.next, p.equalBytes, p.misses, p.ordered = 0, 0, 0, true
}

const (
	maxMisses   = 4 // after this many misses, the prediction for the item ends
	alignWindow = 4 // number of attributes, from the expected one on, that align compares with a name
)

// hasNext reports whether the prediction expects another attribute.
func (p *previousImage) hasNext() bool { return p.next < len(p.attrs) }

// takeEqual indexes the attributes from i on that are identical in the previous image. i is the position of a name's
// opening quote. next is the position of the opening quote of the first name whose attribute differs. If the whole rest
// of the item is identical, end is true, and next is the position after the item.
//
// i, next and s.origin are positions in the input. docStart and docPos are positions in p.doc. p.next and last are
// indexes in p.attrs.
func (s *Scanner) takeEqual(i int) (next int, end bool) {
	p := &s.previous
	docStart := p.attrs[p.next].NameStart() - 1
	equal := simd.EqualPrefix(s.Input[i:], p.doc[docStart:])
	shift := Attr(i-s.origin-docStart) << attrName // modulo 2^32, because the difference may be negative
	docPos, last := docStart, len(p.attrs)-1
	// The quote of the next name must be equal, too. Only then is the whole attribute before the quote identical.
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

// expectedHead returns the head of the member at i, the part up to the content of its value, as [Scanner.memberHead]
// does. If the head differs from the head of the expected attribute, the tag is NoTag.
func (p *previousImage) expectedHead(i int) (nameEnd, content int, tag Tag, escaped bool) {
	a := p.attrs[p.next]
	if a.Far() || p.equalBytes <= a.NameLen()+a.Gap() {
		return 0, 0, NoTag, false
	}
	p.next++
	nameEnd = i + 1 + a.NameLen()
	content = nameEnd + a.Gap()
	if a.Tag() <= TagB {
		content-- // the content starts at the quote
	}
	return nameEnd, content, a.Tag(), a.escaped()
}

// align finds the name of a scanned attribute in doc, and makes the attribute after it the expected one. If the name is
// not within alignWindow attributes, align counts a miss.
func (p *previousImage) align(name []byte) {
	for n := p.next; n < min(p.next+alignWindow, len(p.attrs)); n++ {
		if string(p.attrs[n].RawName(p.doc)) == string(name) {
			p.next = n + 1
			return
		}
	}
	p.ordered = false
	p.misses++
	if p.misses == maxMisses {
		p.next = len(p.attrs)
	}
}
