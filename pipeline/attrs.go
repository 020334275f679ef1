package pipeline

// attr is one attribute of an item, in eight bytes: where its name stands in the item's
// bytes, how long it is, how far behind it the value stands, and how far the value's end is
// from what comes next. Half of what a decoded record takes in memory is these.
type attr uint64

const (
	attrEscaped = 1 << iota // the name holds an escape
	attrFar                 // a distance is too long for its byte: it is found by reading once more

	attrTag  = 4  // 4 bits
	attrTail = 8  // 8 bits, from the value's end to the next name, or to the end of the item
	attrGap  = 16 // 8 bits, from the name's end to the value
	attrLen  = 24 // 8 bits, of the name
	attrName = 32 // 32 bits
)

// extent is an attr unpacked: ranges of the item's bytes.
type extent struct {
	name, nameEnd int // without quotes
	from, to      int // of the value, as Value.raw
	tag           typeTag
	escaped       bool
}

// pack makes an attr of e; next is where the next name stands, or the end of the item.
func (e extent) pack(next int) attr {
	a := attr(e.name)<<attrName | attr(e.tag)<<attrTag
	if e.escaped {
		a |= attrEscaped
	}
	length, gap, tail := e.nameEnd-e.name, e.from-e.nameEnd, next-e.to
	if (length|gap|tail)>>8 != 0 {
		return a | attrFar
	}
	return a | attr(length)<<attrLen | attr(gap)<<attrGap | attr(tail)<<attrTail
}

// packName is an attr of which only the name is asked for.
func packName(from, to int) attr {
	a := attr(from) << attrName
	if (to-from)>>8 != 0 {
		return a | attrFar
	}
	return a | attr(to-from)<<attrLen
}

// name is where the name begins.
func (a attr) name() int { return int(a >> attrName) }

// nameLen is the length of the name, if the attribute is not far.
func (a attr) nameLen() int { return int(a >> attrLen & 0xff) }

// gap is the distance from the end of the name to the value, if the attribute is not far.
func (a attr) gap() int { return int(a >> attrGap & 0xff) }

// tail is the distance from the end of the value to what follows, if the attribute is not far.
func (a attr) tail() int { return int(a >> attrTail & 0xff) }

// tag is the tag of the value.
func (a attr) tag() typeTag { return typeTag(a >> attrTag & 0xf) }

// far reports whether a distance is too long for its byte.
func (a attr) far() bool { return a&attrFar != 0 }

func (a attr) escaped() bool { return a&attrEscaped != 0 }

// rawName is the name as it is written in doc.
func (a attr) rawName(doc []byte) []byte {
	from := a.name()
	if a.far() {
		return doc[from:stringEnd(doc, from)]
	}
	return doc[from : from+a.nameLen()]
}

// text is the name without escapes.
func (a attr) text(doc []byte) string {
	if a.escaped() {
		return view(textOf(a.rawName(doc)))
	}
	return view(a.rawName(doc))
}

// placesOf is where the name of attribute i of as, which are all of the item in doc, begins and
// ends, and where its value does: as [extent] has them, but in registers, from which they are
// read at once.
func placesOf(doc []byte, as []attr, i int) (name, nameEnd, from, to int) {
	a := as[i]
	if a.far() {
		e := a.read(doc)
		return e.name, e.nameEnd, e.from, e.to
	}
	name, to = a.name(), len(doc)
	if i+1 < len(as) {
		to = as[i+1].name()
	}
	nameEnd = name + a.nameLen()
	return name, nameEnd, nameEnd + a.gap(), to - a.tail()
}

// endOf is where the value of attribute i ends.
func endOf(doc []byte, as []attr, i int) int {
	a := as[i]
	switch {
	case a.far():
		return a.read(doc).to
	case i+1 < len(as):
		return as[i+1].name() - a.tail()
	}
	return len(doc) - a.tail()
}

// read finds out from the item's bytes what a says, and what it does not.
func (a attr) read(doc []byte) extent {
	e := extent{name: a.name(), tag: a.tag(), escaped: a.escaped()}
	_, nameEnd, value := memberName(doc, e.name-1)
	e.nameEnd = nameEnd
	tag, at := tagAt(doc, value)
	if tag == noTag { // {}
		e.from, e.to = value, at
		return e
	}
	e.from, e.to = at, contentEnd(doc, tag, at)
	if tag <= tagB {
		e.from, e.to = e.from+1, e.to-1
	}
	return e
}
