package pipeline

import (
	"bytes"
	"slices"
	"strings"
)

// Equal tells whether two values mean the same: of one kind, maps by name, lists
// in order, sets without order, numbers by their value (1, 1.0 and 1e0 are equal),
// texts and binaries by what they stand for. Absent equals absent.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	if bytes.Equal(v.raw, w.raw) {
		return true
	}
	switch v.kind {
	case KindS, KindB:
		return sameText(v.raw, w.raw)
	case KindN:
		return decimalOf(v.raw) == decimalOf(w.raw)
	case KindM:
		return equalMaps(membersOfMap(v), membersOfMap(w))
	case KindL:
		return equalLists(elementsOf(v), elementsOf(w))
	case KindSS, KindNS, KindBS:
		return equalSets(elementsOf(v), elementsOf(w))
	default: // the bytes of BOOL and NULL say all
		return v.kind == KindNULL || v.kind == Absent
	}
}

// Equal tells whether two images hold equal attributes, in whatever order. An
// image that does not exist equals none but another such.
func (m Image) Equal(n Image) bool {
	if m.Exists() != n.Exists() || len(m.attrs) != len(n.attrs) {
		return false
	}
	if bytes.Equal(m.doc, n.doc) {
		return true
	}
	for i := range m.attrs {
		// Both images of a record have their attributes in one order, as a rule.
		a, b := &m.attrs[i], &n.attrs[i]
		if a.escaped || b.escaped || !bytes.Equal(a.rawName(m.doc), b.rawName(n.doc)) {
			return equalMaps(m.named(i), n.named(i))
		}
		if !a.value(m.doc).Equal(b.value(n.doc)) {
			return false
		}
	}
	return true
}

// namedValue is a member of a map.
type namedValue struct {
	name  string
	value Value
}

func (m Image) named(from int) []namedValue {
	ms := make([]namedValue, 0, len(m.attrs)-from)
	for i := range m.attrs[from:] {
		a := &m.attrs[from+i]
		ms = append(ms, namedValue{a.text(m.doc), a.value(m.doc)})
	}
	return ms
}

func membersOfMap(v Value) []namedValue {
	var ms []namedValue
	for name, m := range v.Members() {
		ms = append(ms, namedValue{name, m})
	}
	return ms
}

func elementsOf(v Value) []Value {
	var es []Value
	for _, e := range v.Elements() {
		es = append(es, e)
	}
	return es
}

// equalMaps sorts its arguments where their order differs.
func equalMaps(a, b []namedValue) bool {
	if len(a) != len(b) {
		return false
	}
	byName := func(x, y namedValue) int { return strings.Compare(x.name, y.name) }
	for i := range a {
		if a[i].name != b[i].name {
			slices.SortFunc(a[i:], byName)
			slices.SortFunc(b[i:], byName)
			break
		}
	}
	return slices.EqualFunc(a, b, func(x, y namedValue) bool { return x.name == y.name && x.value.Equal(y.value) })
}

func equalLists(a, b []Value) bool { return slices.EqualFunc(a, b, Value.Equal) }

// equalSets compares sets, whose members are distinct, so that an order of them
// makes equal sets equal lists.
func equalSets(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	if equalLists(a, b) {
		return true
	}
	order := func(x, y Value) int {
		if x.kind == KindN {
			return decimalOf(x.raw).Cmp(decimalOf(y.raw))
		}
		return bytes.Compare(textOf(x.raw), textOf(y.raw))
	}
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return equalLists(a, b)
}
