package ddbjson

import "github.com/tablewake/tablewake/pipeline/internal/simd"

// previousImage is an item that the scanned item probably resembles: the other image of the same record, or the same
// image of the record before. The two images of a record differ in a few values; consecutive records have the same
// attribute names and types. Bytes that equal checked bytes need no check.
//
// This is a prediction: where the two items differ, members scans each attribute itself. Without it decoding takes
// 1.95 times as long (BenchmarkDecoder of package record).
type previousImage struct {
	doc     []byte
	attrs   []Attr
	next    int  // index of the expected attribute; len(attrs) if none is expected
	same    int  // number of equal bytes from the quote of that attribute's name
	misses  int  // attributes that were not where they were expected
	ordered bool // all names so far came from doc, in its order: so none of them is a duplicate
}

// start begins the scan of an item that is compared with the item doc and its index; both are nil if there is none.
func (p *previousImage) start(doc []byte, attrs []Attr) {
	p.doc, p.attrs = doc, attrs // not as one struct: with pointers it is copied by a call while the GC runs
	p.next, p.same, p.misses, p.ordered = 0, 0, 0, true
}

// maxMisses is how many attributes may be elsewhere before the prediction ends for this item.
const maxMisses = 4

// expects reports whether an attribute is expected next.
func (p *previousImage) expects() bool { return p.next < len(p.attrs) }

// takeEqual indexes the attributes from i on that equal those of the previous image byte for byte. i is the quote of an
// attribute's name. It returns the quote of the first name whose attribute differs; if all the rest of the item is
// equal, end is true and next is the position after the item.
func (s *Scanner) takeEqual(i int) (next int, end bool) {
	p := &s.previous
	from := p.attrs[p.next].NameStart() - 1
	same := simd.Same(s.Input[i:], p.doc[from:])
	shift := Attr(i-s.origin-from) << attrName // modulo 2^32: it may be negative
	start, last := from, len(p.attrs)-1
	// If the quote of the next name is equal, so is everything before it.
	for p.next < last && p.attrs[p.next+1].NameStart() <= from+same {
		s.stack = append(s.stack, p.attrs[p.next]+shift)
		p.next++
		start = p.attrs[p.next].NameStart() - 1
	}
	if same == len(p.doc)-from {
		s.stack = append(s.stack, p.attrs[last]+shift)
		p.next++
		return i + same, true
	}
	p.same = same - (start - from)
	return i + start - from, false
}

// expectedHead returns the head of the member at i, as [Scanner.memberHead] does, if it equals that of the expected
// attribute; else the tag is NoTag.
func (p *previousImage) expectedHead(i int) (nameEnd, at int, tag Tag, escaped bool) {
	a := p.attrs[p.next]
	if a.Far() || p.same <= a.NameLen()+a.Gap() {
		return 0, 0, NoTag, false
	}
	p.next++
	nameEnd = i + 1 + a.NameLen()
	at = nameEnd + a.Gap()
	if a.Tag() <= TagB {
		at-- // the quote
	}
	return nameEnd, at, a.Tag(), a.escaped()
}

// align looks for the name of a scanned attribute and expects the attribute after it next.
func (p *previousImage) align(name []byte) {
	for n := p.next; n < min(p.next+maxMisses, len(p.attrs)); n++ {
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
