package item

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// Both images of a record are written by one hand: most of their bytes are equal,
// and equal bytes are divided into attributes alike. So they are compared as bytes
// up to the first that differs, and there by meaning.

// attrsAlike is how many attributes are spelt alike from attribute i of a and from
// attribute j of b on, and where in a's bytes the first byte stands that differs.
func attrsAlike(a, b *Image, i, j int) (n, end int) {
	doc, as := a.Bytes(), a.Index()
	first := as[i].Name()
	end = first + simd.Same(doc[first:], b.Bytes()[b.Index()[j].Name():])
	// Where the next name begins the same, so does the value end that stands before it.
	for i+n+1 < len(as) && as[i+n+1].Name() < end {
		n++
	}
	if i+n < len(as) && ddbjson.EndOf(doc, as, i+n) < end { // the byte at to ends the value
		n++
	}
	return n, end
}

// unlike tells, of two attributes that begin alike and differ first at a[p] and
// b[q], whether they differ by meaning: true where those bytes stand in an S or
// an N and say so; false where that takes more than a look around. Maps and lists
// that lead to the same place by the same bytes differ when what stands there does.
func unlike(a []byte, p int, b []byte, q int) bool {
	if p >= len(a) || q >= len(b) || a[p] == '\\' || b[q] == '\\' {
		return false
	}
	for i := p - 1; i > 5 && a[i] != '\\'; i-- {
		if a[i] != '"' {
			continue
		}
		// A quote that follows these bytes opens a text: within texts quotes are
		// escaped, and a member of a map is no text.
		switch string(a[i-5 : i]) {
		case `{"S":`:
			return true
		case `{"N":`:
			from, other := i+1, q-p+i+1
			return !sameNumber(a[from:ddbjson.StringEnd(a, from)], b[other:ddbjson.StringEnd(b, other)])
		}
		return false
	}
	return false
}
