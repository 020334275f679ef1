package item

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// valueOf is the value of attribute i of as, which are all of the item in doc.
func valueOf(doc []byte, as []ddbjson.Attr, i int) Value {
	a := as[i]
	from, to := a.Name()+a.NameLen()+a.Gap(), len(doc)
	if i+1 < len(as) {
		to = as[i+1].Name()
	}
	if to -= a.Tail(); a.Far() {
		e := a.Read(doc)
		from, to = e.From, e.To
	}
	return Value{raw: doc[from:to:to], kind: Kind(a.Tag())}
}

// readValue reads the value at i, as {"S":"x"}, and the position behind it.
func readValue(b []byte, i int) (Value, int) {
	tag, from := ddbjson.TagAt(b, i)
	if tag == ddbjson.NoTag {
		return Value{raw: emptyMap, kind: KindM}, from
	}
	end := ddbjson.ContentEnd(b, tag, from)
	to := end
	if tag <= ddbjson.TagB {
		from, to = from+1, end-1
	}
	return Value{raw: b[from:to:to], kind: Kind(tag)}, ddbjson.Closed(b, end)
}

var emptyMap = []byte("{}")

// EachMember calls yield for the members of a map, with their raw names.
func EachMember(b []byte, yield func(name []byte, v Value) bool) {
	for ms := walk(b); ; {
		name, v, ok := ms.member()
		if !ok || !yield(name, v) {
			return
		}
	}
}

// EachElement calls yield for the elements of a list or a set.
func EachElement(b []byte, kind Kind, yield func(v Value) bool) {
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

func walk(b []byte) walker { return walker{b, ddbjson.Inside(b, 0)} }

// member is the next member of a map, with its raw name; false behind the last.
func (w *walker) member() (name []byte, v Value, ok bool) {
	if w.b[w.i] == '}' {
		return nil, Value{}, false
	}
	from, to, at := ddbjson.MemberName(w.b, w.i)
	v, at = readValue(w.b, at)
	w.i = ddbjson.Next(w.b, at)
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
		end := ddbjson.StringEnd(w.b, w.i+1)
		v, at = Value{raw: w.b[w.i+1 : end : end], kind: Kind(ddbjson.MemberTag(ddbjson.Tag(kind)))}, end+1
	}
	w.i = ddbjson.Next(w.b, at)
	return v, true
}
