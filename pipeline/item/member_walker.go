package item

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// valueOf returns the value of attribute i of the item doc. attrs is the whole index of doc.
func valueOf(doc []byte, attrs []ddbjson.Attr, i int) Value {
	_, _, from, to := ddbjson.AttrAt(doc, attrs, i)
	return Value{raw: doc[from:to:to], kind: Kind(attrs[i].Tag())}
}

// readValue reads the value at i, such as {"S":"x"}. It returns the value and the position after it.
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
	return Value{raw: b[from:to:to], kind: Kind(tag)}, ddbjson.AfterBrace(b, end)
}

var emptyMap = []byte("{}")

// walker iterates over the content of a map, a list or a set.
type walker struct {
	b []byte
	i int // position of the next member or element, or of the closing bracket
}

func walk(b []byte) walker { return walker{b, ddbjson.FirstInside(b, 0)} }

// member returns the next member of a map, or false after the last one. name is as it is written, with escapes.
func (w *walker) member() (name []byte, v Value, ok bool) {
	if w.b[w.i] == '}' {
		return nil, Value{}, false
	}
	from, to, end := ddbjson.MemberName(w.b, w.i)
	v, end = readValue(w.b, end)
	w.i = ddbjson.Next(w.b, end)
	return w.b[from:to], v, true
}

// element returns the next element of the list or set, or false after the last. kind is the kind of the list or set.
func (w *walker) element(kind Kind) (v Value, ok bool) {
	if w.b[w.i] == ']' {
		return Value{}, false
	}
	next := 0
	if kind == KindL {
		v, next = readValue(w.b, w.i)
	} else {
		end := ddbjson.StringEnd(w.b, w.i+1)
		v, next = Value{raw: w.b[w.i+1 : end : end], kind: Kind(ddbjson.MemberTag(ddbjson.Tag(kind)))}, end+1
	}
	w.i = ddbjson.Next(w.b, next)
	return v, true
}
