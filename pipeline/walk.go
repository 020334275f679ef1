package pipeline

// valueOf is the value of attribute i of as, which are all of the item in doc.
func valueOf(doc []byte, as []attr, i int) Value {
	a := as[i]
	from, to := a.name()+a.nameLen()+a.gap(), len(doc)
	if i+1 < len(as) {
		to = as[i+1].name()
	}
	if to -= a.tail(); a.far() {
		e := a.read(doc)
		from, to = e.from, e.to
	}
	return Value{raw: doc[from:to:to], kind: Kind(a.tag())}
}

// readValue reads the value at i, as {"S":"x"}, and the position behind it.
func readValue(b []byte, i int) (Value, int) {
	tag, from := tagAt(b, i)
	if tag == noTag {
		return Value{raw: emptyMap, kind: KindM}, from
	}
	end := contentEnd(b, tag, from)
	to := end
	if tag <= tagB {
		from, to = from+1, end-1
	}
	return Value{raw: b[from:to:to], kind: Kind(tag)}, closed(b, end)
}

var emptyMap = []byte("{}")

// eachMember calls yield for the members of a map, with their raw names.
func eachMember(b []byte, yield func(name []byte, v Value) bool) {
	for ms := walk(b); ; {
		name, v, ok := ms.member()
		if !ok || !yield(name, v) {
			return
		}
	}
}

// eachElement calls yield for the elements of a list or a set.
func eachElement(b []byte, kind Kind, yield func(v Value) bool) {
	for es := walk(b); ; {
		v, ok := es.element(kind)
		if !ok || !yield(v) {
			return
		}
	}
}

// walker stands before a member of a map, or an element of a list or a set.
type walker struct {
	b []byte
	i int // of the next one, or of the closing bracket
}

func walk(b []byte) walker { return walker{b, inside(b, 0)} }

// member is the next member of a map, with its raw name; false behind the last.
func (w *walker) member() (name []byte, v Value, ok bool) {
	if w.b[w.i] == '}' {
		return nil, Value{}, false
	}
	from, to, at := memberName(w.b, w.i)
	v, at = readValue(w.b, at)
	w.i = next(w.b, at)
	return w.b[from:to], v, true
}

// element is the next element of a list or member of a set, which kind says; false
// behind the last.
func (w *walker) element(kind Kind) (v Value, ok bool) {
	if w.b[w.i] == ']' {
		return Value{}, false
	}
	at := 0
	if kind == KindL {
		v, at = readValue(w.b, w.i)
	} else {
		end := stringEnd(w.b, w.i+1)
		v, at = Value{raw: w.b[w.i+1 : end : end], kind: Kind(memberTag(typeTag(kind)))}, end+1
	}
	w.i = next(w.b, at)
	return v, true
}
