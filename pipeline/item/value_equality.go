package item

import (
	"bytes"
	"slices"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Equal reports whether two values are equal by meaning. Values of different kinds are not equal. Maps are compared by
// name, lists in order, and sets without order. Numbers are compared by value: 1, 1.0 and 1e0 are equal. Texts and
// binaries are compared without their escapes. Two absent values are equal.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	if bytes.Equal(v.raw, w.raw) {
		return true
	}
	switch v.kind {
	case KindS, KindB:
		return ddbjson.SameText(v.raw, w.raw)
	case KindN:
		return sameNumber(v.raw, w.raw)
	case KindM:
		return equalMaps(walk(v.raw), walk(w.raw))
	case KindL:
		return equalElements(walk(v.raw), walk(w.raw), KindL)
	case KindSS, KindNS, KindBS:
		return equalSets(v, w)
	default: // BOOLs with different bytes have different values
		return v.kind == KindNULL || v.kind == Absent
	}
}

// Equal reports whether two images have equal attributes, in any order. An image that does not exist equals only an
// image that does not exist.
func (m Image) Equal(n Image) bool {
	if m.Exists() != n.Exists() || m.n != n.n {
		return false
	}
	for i := 0; i < m.Len(); i++ {
		// The two images of a record mostly have their attributes in the same order.
		equal, _ := equalAttrs(&m, &n, i, i)
		i += equal
		if i == m.Len() {
			break
		}
		if !m.Index()[i].SameName(m.Bytes(), n.Index()[i], n.Bytes()) {
			return equalMaps(walk(m.Bytes()), walk(n.Bytes()))
		}
		if !m.ValueAt(i).Equal(n.ValueAt(i)) {
			return false
		}
	}
	return true
}

// sameNumber reports whether two numbers with different texts are equal.
func sameNumber(a, b []byte) bool {
	if isCanonical(a) && isCanonical(b) {
		return false
	}
	return ddbjson.DecimalOf(a) == ddbjson.DecimalOf(b)
}

// fewMembers is the number of members that are sorted without allocation.
const fewMembers = 16

// skipEqual moves the walkers of two maps past the members before the first different byte. It passes a member only if
// the byte after the member is equal, too: that byte could be white space in one of the maps.
func skipEqual(x, y *walker) {
	end := x.i + simd.EqualPrefix(x.b[x.i:], y.b[y.i:])
	for x.i < end && x.b[x.i] == '"' {
		_, _, value := ddbjson.MemberName(x.b, x.i)
		next := ddbjson.Next(x.b, ddbjson.ValueEnd(x.b, value))
		if next >= end {
			return
		}
		x.i, y.i = next, y.i+next-x.i
	}
}

// equalMaps compares two maps, member by member in the order of the page. At the first different name, it pairs the
// remaining members of both maps by name.
func equalMaps(x, y walker) bool {
	for {
		skipEqual(&x, &y)
		afterX, afterY := x, y
		name, v, ok := afterX.member()
		other, w, otherOK := afterY.member()
		if !ok || !otherOK {
			return ok == otherOK
		}
		if !ddbjson.SameText(name, other) {
			break
		}
		if !v.Equal(w) {
			return false
		}
		x, y = afterX, afterY
	}
	var pairs [2 * fewMembers]pair
	isDifferent := func(p pair) bool { return !p.old.Equal(p.new) }
	return !slices.ContainsFunc(pairUp(pairs[:0], x, y), isDifferent)
}

// equalElements compares two lists, or two sets in the order of the page. kind is the kind of both.
func equalElements(x, y walker, kind Kind) bool {
	for {
		v, ok := x.element(kind)
		w, otherOK := y.element(kind)
		if !ok || !otherOK {
			return ok == otherOK
		}
		if !v.Equal(w) {
			return false
		}
	}
}

// equalSets compares two sets in the order of the page. If this fails, it compares the sorted members. The members of a
// set are distinct, so two sets are equal if their sorted members are equal.
func equalSets(v, w Value) bool {
	n := v.Len()
	if n != w.Len() {
		return false
	}
	if equalElements(walk(v.raw), walk(w.raw), v.kind) {
		return true
	}
	var vs, ws [fewMembers]Value
	a, b := appendElements(vs[:0], v), appendElements(ws[:0], w)
	order := func(x, y Value) int {
		if x.kind == KindN {
			return ddbjson.DecimalOf(x.raw).Cmp(ddbjson.DecimalOf(y.raw))
		}
		return bytes.Compare(ddbjson.TextOf(x.raw), ddbjson.TextOf(y.raw))
	}
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.EqualFunc(a, b, Value.Equal)
}

func appendElements(es []Value, v Value) []Value {
	for _, e := range v.Elements() {
		es = append(es, e)
	}
	return es
}
