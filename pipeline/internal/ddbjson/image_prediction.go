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
	nextAttr   int  // index of the expected attribute; len(attrs) if no attribute is expected
	equalBytes int  // number of bytes, from the opening quote of the expected name on, that are the same in both items
	misses     int  // number of attributes that align did not find
	ordered    bool // the names so far are names of doc, in the order of doc; so no name is a duplicate
}

// start begins the scan of an item. doc is the item to compare it with, and attrs is the index of doc. Both are nil if
// there is no item to compare with.
func (p *previousImage) start(doc []byte, attrs []Attr) {
	p.doc, p.attrs = doc, attrs // each field alone: copying a struct with pointers takes a call while the GC runs
	p.nextAttr, p.equalBytes, p.misses, p.ordered = 0, 0, 0, true
}

const (
	maxMisses   = 4 // after this many misses, the prediction for the item ends
	alignWindow = 4 // number of attributes, from the expected one on, that align compares with a name
)

// hasNext reports whether the prediction expects another attribute.
func (p *previousImage) hasNext() bool { return p.nextAttr < len(p.attrs) }

// takeEqual indexes the attributes from pos on that are identical in the previous image. pos is the position of a
// name's opening quote. nextPos is the position of the opening quote of the first name whose attribute differs. If the
// whole rest of the item is identical, end is true, and nextPos is the position after the item.
//
// Positions are in the input, except docStart and docPos, which are in p.doc.
func (s *Scanner) takeEqual(pos int) (nextPos int, end bool) {
	p := &s.previous
	docStart := p.attrs[p.nextAttr].NameStart() - 1
	equal := simd.EqualPrefix(s.Input[pos:], p.doc[docStart:])
	move := Attr(pos-s.origin-docStart) << attrName // from a name in p.doc to that in the item; modulo 2^32 if negative
	docPos, last := docStart, len(p.attrs)-1
	// The quote of the next name must be equal, too. Only then is the whole attribute before the quote identical.
	for p.nextAttr < last && p.attrs[p.nextAttr+1].NameStart() <= docStart+equal {
		s.stack = append(s.stack, p.attrs[p.nextAttr]+move)
		p.nextAttr++
		docPos = p.attrs[p.nextAttr].NameStart() - 1
	}
	if equal == len(p.doc)-docStart {
		s.stack = append(s.stack, p.attrs[last]+move)
		p.nextAttr++
		return pos + equal, true
	}
	p.equalBytes = equal - (docPos - docStart)
	return pos + docPos - docStart, false
}

// expectedHead returns the head of the member at pos, which ends before the content of its value, as
// [Scanner.memberHead] does. If it is not the head of the expected attribute, the tag is NoTag.
func (p *previousImage) expectedHead(pos int) (nameEnd, contentPos int, tag Tag, escaped bool) {
	a := p.attrs[p.nextAttr]
	isHeadEqual := !a.Far() && p.equalBytes > a.NameLen()+a.Gap()
	if !isHeadEqual {
		return 0, 0, NoTag, false
	}
	p.nextAttr++
	nameEnd = pos + 1 + a.NameLen()
	contentPos = nameEnd + a.Gap()
	if a.Tag() <= TagB {
		contentPos-- // the gap ends after the quote of the value, and the content starts at the quote
	}
	return nameEnd, contentPos, a.Tag(), a.escaped()
}

// align finds the name of a scanned attribute in doc, and makes the attribute after it the expected one. If the name is
// not within alignWindow attributes, align counts a miss.
func (p *previousImage) align(name []byte) {
	for n := p.nextAttr; n < min(p.nextAttr+alignWindow, len(p.attrs)); n++ {
		if string(p.attrs[n].RawName(p.doc)) == string(name) {
			p.nextAttr = n + 1
			return
		}
	}
	p.ordered = false
	p.misses++
	if p.misses == maxMisses {
		p.nextAttr = len(p.attrs)
	}
}
