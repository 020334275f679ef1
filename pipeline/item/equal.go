package item

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
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
		return ddbjson.SameText(v.raw, w.raw)
	case KindN:
		return sameNumber(v.raw, w.raw)
	case KindM:
		return equalMaps(walk(v.raw), walk(w.raw))
	case KindL:
		return equalElements(walk(v.raw), walk(w.raw), KindL)
	case KindSS, KindNS, KindBS:
		return equalSets(v, w)
	default: // the bytes of BOOL and NULL say all
		return v.kind == KindNULL || v.kind == Absent
	}
}

// Equal tells whether two images hold equal attributes, in whatever order. An
// image that does not exist equals none but another such.
func (m Image) Equal(n Image) bool {
	if m.Exists() != n.Exists() || m.n != n.n {
		return false
	}
	for i := 0; i < m.Len(); i++ {
		// Both images of a record have their attributes in one order, as a rule.
		same, _ := attrsAlike(&m, &n, i, i)
		if i += same; i == m.Len() {
			break
		}
		if !m.Index()[i].Named(m.Bytes(), n.Index()[i], n.Bytes()) {
			return equalMaps(walk(m.Bytes()), walk(n.Bytes()))
		}
		if !m.ValueAt(i).Equal(n.ValueAt(i)) {
			return false
		}
	}
	return true
}

// sameNumber tells whether two numbers that are spelt differently are equal.
func sameNumber(a, b []byte) bool {
	if isCanonical(a) && isCanonical(b) {
		return false
	}
	return ddbjson.DecimalOf(a) == ddbjson.DecimalOf(b)
}

// namedValue is a member of a map.
type namedValue struct {
	name  string
	value Value
}

func appendMembers(ms []namedValue, w walker) []namedValue {
	for name, v, ok := w.member(); ok; name, v, ok = w.member() {
		ms = append(ms, namedValue{ddbjson.View(ddbjson.TextOf(name)), v})
	}
	return ms
}

// fewMembers is how many members are put in order without allocation.
const fewMembers = 16

// skipAlike takes both walkers past what is spelt alike: members, of maps, before
// the first byte that differs. The byte behind a member is equal too: else white space
// may stand there in one of them.
func skipAlike(x, y *walker) {
	end := x.i + simd.Same(x.b[x.i:], y.b[y.i:])
	for i := x.i; i < end && x.b[i] == '"'; {
		_, _, at := ddbjson.MemberName(x.b, i)
		if i = ddbjson.Next(x.b, ddbjson.ValueEnd(x.b, at)); i < end {
			x.i, y.i = i, y.i+i-x.i
		}
	}
}

// equalMaps puts members in order from where their order differs.
func equalMaps(x, y walker) bool {
	for {
		skipAlike(&x, &y)
		behindX, behindY := x, y
		name, v, ok := behindX.member()
		other, w, too := behindY.member()
		if !ok || !too {
			return ok == too
		}
		if !ddbjson.SameText(name, other) {
			break
		}
		if !v.Equal(w) {
			return false
		}
		x, y = behindX, behindY
	}
	var one, two [fewMembers]namedValue
	a, b := appendMembers(one[:0], x), appendMembers(two[:0], y)
	if len(a) != len(b) {
		return false
	}
	byName := func(x, y namedValue) int { return strings.Compare(x.name, y.name) }
	slices.SortFunc(a, byName)
	slices.SortFunc(b, byName)
	return slices.EqualFunc(a, b, func(x, y namedValue) bool { return x.name == y.name && x.value.Equal(y.value) })
}

// equalElements compares lists, or sets as lists.
func equalElements(x, y walker, kind Kind) bool {
	for {
		v, ok := x.element(kind)
		w, too := y.element(kind)
		if !ok || !too {
			return ok == too
		}
		if !v.Equal(w) {
			return false
		}
	}
}

// equalSets compares sets, whose members are distinct, so that an order of them
// makes equal sets equal lists.
func equalSets(v, w Value) bool {
	n := v.Len()
	if n != w.Len() {
		return false
	}
	if equalElements(walk(v.raw), walk(w.raw), v.kind) {
		return true
	}
	var one, two [fewMembers]Value
	a, b := appendElements(one[:0], v), appendElements(two[:0], w)
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
	w := walk(v.raw)
	for e, ok := w.element(v.kind); ok; e, ok = w.element(v.kind) {
		es = append(es, e)
	}
	return es
}
