package ddbjson

import "bytes"

// Attr is one attribute of an item, in eight bytes: where its name stands in the item's
// bytes, how long it is, how far behind it the value stands, and how far the value's end is
// from what comes next. Half of what a decoded record takes in memory is these.
type Attr uint64

const (
	AttrEscaped = 1 << iota // the name holds an escape
	AttrFar                 // a distance is too long for its byte: it is found by reading once more

	attrTag  = 4  // 4 bits
	attrTail = 8  // 8 bits, from the value's end to the next name, or to the end of the item
	attrGap  = 16 // 8 bits, from the name's end to the value
	AttrLen  = 24 // 8 bits, of the name
	attrName = 32 // 32 bits
)

// extent is an attr unpacked: ranges of the item's bytes.
type extent struct {
	name, NameEnd int // without quotes
	From, To      int // of the value, as Value.raw
	tag           Tag
	escaped       bool
}

// pack makes an attr of e; next is where the next name stands, or the end of the item.
func (e extent) pack(next int) Attr {
	a := Attr(e.name)<<attrName | Attr(e.tag)<<attrTag
	if e.escaped {
		a |= AttrEscaped
	}
	length, gap, tail := e.NameEnd-e.name, e.From-e.NameEnd, next-e.To
	if (length|gap|tail)>>8 != 0 {
		return a | AttrFar
	}
	return a | Attr(length)<<AttrLen | Attr(gap)<<attrGap | Attr(tail)<<attrTail
}

// packName is an attr of which only the name is asked for.
func packName(from, to int) Attr {
	a := Attr(from) << attrName
	if (to-from)>>8 != 0 {
		return a | AttrFar
	}
	return a | Attr(to-from)<<AttrLen
}

// Name is where the Name begins.
func (a Attr) Name() int { return int(a >> attrName) }

// NameLen is the length of the name, if the attribute is not far.
func (a Attr) NameLen() int { return int(a >> AttrLen & 0xff) }

// Gap is the distance from the end of the name to the value, if the attribute is not far.
func (a Attr) Gap() int { return int(a >> attrGap & 0xff) }

// Tail is the distance from the end of the value to what follows, if the attribute is not far.
func (a Attr) Tail() int { return int(a >> attrTail & 0xff) }

// Tag is the Tag of the value.
func (a Attr) Tag() Tag { return Tag(a >> attrTag & 0xf) }

// Far reports whether a distance is too long for its byte.
func (a Attr) Far() bool { return a&AttrFar != 0 }

func (a Attr) escaped() bool { return a&AttrEscaped != 0 }

// RawName is the name as it is written in doc.
func (a Attr) RawName(doc []byte) []byte {
	from := a.Name()
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

// PlacesOf is where the name of attribute i of as, which are all of the item in doc, begins and
// ends, and where its value does: as [extent] has them, but in registers, from which they are
// read at once.
func PlacesOf(doc []byte, as []Attr, i int) (name, nameEnd, from, to int) {
	a := as[i]
	if a.Far() {
		e := a.Read(doc)
		return e.name, e.NameEnd, e.From, e.To
	}
	name, to = a.Name(), len(doc)
	if i+1 < len(as) {
		to = as[i+1].Name()
	}
	nameEnd = name + a.NameLen()
	return name, nameEnd, nameEnd + a.Gap(), to - a.Tail()
}

// EndOf is where the value of attribute i ends.
func EndOf(doc []byte, as []Attr, i int) int {
	a := as[i]
	switch {
	case a.Far():
		return a.Read(doc).To
	case i+1 < len(as):
		return as[i+1].Name() - a.Tail()
	}
	return len(doc) - a.Tail()
}

// Read finds out from the item's bytes what a says, and what it does not.
func (a Attr) Read(doc []byte) extent {
	e := extent{name: a.Name(), tag: a.Tag(), escaped: a.escaped()}
	_, nameEnd, value := MemberName(doc, e.name-1)
	e.NameEnd = nameEnd
	tag, at := TagAt(doc, value)
	if tag == NoTag { // {}
		e.From, e.To = value, at
		return e
	}
	e.From, e.To = at, ContentEnd(doc, tag, at)
	if tag <= TagB {
		e.From, e.To = e.From+1, e.To-1
	}
	return e
}

// Named tells whether two attributes have one name.
func (a Attr) Named(doc []byte, b Attr, other []byte) bool {
	if a.escaped() || b.escaped() {
		return a.Text(doc) == b.Text(other)
	}
	return bytes.Equal(a.RawName(doc), b.RawName(other))
}
