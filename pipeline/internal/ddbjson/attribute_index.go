package ddbjson

import "bytes"

// Attr is the index entry of one attribute, packed into eight bytes. It has the position and the length of the name,
// the distance from the name to the value, and the distance from the value to the next name. Positions count from the
// start of the item. Half of the memory of a decoded record is Attrs, so an Attr is small.
type Attr uint64

const (
	attrEscaped = 1 << iota // the name has an escape
	attrFar                 // a length or a distance does not fit into its byte; unpack reads it from the item

	attrTag     = 4  // shift of the value's tag, 4 bits
	attrTail    = 8  // shift of the distance from the value's end to the next name or the item's end, 8 bits
	attrGap     = 16 // shift of the distance from the name's end to the value, 8 bits
	attrNameLen = 24 // shift of the length of the name, 8 bits
	attrName    = 32 // shift of the position of the name, 32 bits
)

// attrRanges is an unpacked [Attr]: ranges of the item's bytes.
type attrRanges struct {
	nameStart, nameEnd int // without quotes
	from, to           int // range of the value's content; for an S, an N or a B, without the quotes
	tag                Tag
	escaped            bool // the name has an escape
}

// pack returns r as an Attr. next is the position of the next name, or the end of the item.
func (r attrRanges) pack(next int) Attr {
	a := Attr(r.nameStart)<<attrName | Attr(r.tag)<<attrTag
	if r.escaped {
		a |= attrEscaped
	}
	length, gap, tail := r.nameEnd-r.nameStart, r.from-r.nameEnd, next-r.to
	if (length|gap|tail)>>8 != 0 {
		return a | attrFar
	}
	return a | Attr(length)<<attrNameLen | Attr(gap)<<attrGap | Attr(tail)<<attrTail
}

// packName returns an Attr that has only a name. from and to are the range of the name.
func packName(from, to int) Attr {
	a := Attr(from) << attrName
	if (to-from)>>8 != 0 {
		return a | attrFar
	}
	return a | Attr(to-from)<<attrNameLen
}

// NameStart is the position of the first byte of the name.
func (a Attr) NameStart() int { return int(a >> attrName) }

// NameLen is the length of the name as written. It is not valid for an attribute that is far.
func (a Attr) NameLen() int { return int(a >> attrNameLen & 0xff) }

// Gap is the distance from the end of the name to the value. It is not valid for an attribute that is far.
func (a Attr) Gap() int { return int(a >> attrGap & 0xff) }

// Tail is the distance from the end of the value to the next name or the end of the item. It is not valid for an
// attribute that is far.
func (a Attr) Tail() int { return int(a >> attrTail & 0xff) }

// Tag is the type tag of the value.
func (a Attr) Tag() Tag { return Tag(a >> attrTag & 0xf) }

// Far reports whether the name's length or a distance does not fit into its byte. [Attr.unpack] returns the ranges of a
// far attribute.
func (a Attr) Far() bool { return a&attrFar != 0 }

// Plain reports whether the name has no escapes and NameLen, Gap and Tail are valid.
func (a Attr) Plain() bool { return a&(attrEscaped|attrFar) == 0 }

func (a Attr) escaped() bool { return a&attrEscaped != 0 }

// RawName is the name as written in the item doc.
func (a Attr) RawName(doc []byte) []byte {
	from := a.NameStart()
	if a.Far() {
		return doc[from:StringEnd(doc, from)]
	}
	return doc[from : from+a.NameLen()]
}

// Text is the name without escapes.
func (a Attr) Text(doc []byte) string {
	if a.escaped() {
		return View(TextOf(a.RawName(doc)))
	}
	return View(a.RawName(doc))
}

// AttrAt returns the ranges of attribute i. attrs is the whole index of the item doc. The results are the fields of an
// [attrRanges]. They are separate results, because the compiler keeps separate results in registers.
func AttrAt(doc []byte, attrs []Attr, i int) (nameStart, nameEnd, from, to int) {
	a := attrs[i]
	if a.Far() {
		r := a.unpack(doc)
		return r.nameStart, r.nameEnd, r.from, r.to
	}
	nameStart, to = a.NameStart(), len(doc)
	if i+1 < len(attrs) {
		to = attrs[i+1].NameStart()
	}
	nameEnd = nameStart + a.NameLen()
	return nameStart, nameEnd, nameEnd + a.Gap(), to - a.Tail()
}

// unpack reads the ranges of any attribute from the item doc. It is slower than [AttrAt] for an attribute that is not
// far.
func (a Attr) unpack(doc []byte) attrRanges {
	r := attrRanges{nameStart: a.NameStart(), tag: a.Tag(), escaped: a.escaped()}
	_, nameEnd, value := MemberName(doc, r.nameStart-1)
	r.nameEnd = nameEnd
	tag, content := TagAt(doc, value)
	if tag == NoTag { // {}
		r.from, r.to = value, content
		return r
	}
	r.from, r.to = content, ContentEnd(doc, tag, content)
	if tag <= TagB {
		r.from, r.to = r.from+1, r.to-1
	}
	return r
}

// SameName reports whether attribute a of doc and attribute b of other have the same name.
func (a Attr) SameName(doc []byte, b Attr, other []byte) bool {
	if a.escaped() || b.escaped() {
		return a.Text(doc) == b.Text(other)
	}
	return bytes.Equal(a.RawName(doc), b.RawName(other))
}
