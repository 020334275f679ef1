package item

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// One encoder wrote both images of a record, so most of their bytes are equal. Attributes with equal bytes are equal.
// So these functions compare two images as bytes up to the first different byte. Only the attribute with this byte
// needs a comparison by meaning.

// equalAttrs compares the bytes of a from attribute i on with the bytes of b from attribute j on. n is the number of
// attributes that have equal bytes. end is the position in a of the first different byte.
func equalAttrs(a, b *Image, i, j int) (n, end int) {
	doc, attrs := a.Bytes(), a.Index()
	first := attrs[i].NameStart()
	end = first + simd.EqualPrefix(doc[first:], b.Bytes()[b.Index()[j].NameStart():])
	// If the next name starts with equal bytes, the value before it is equal.
	for i+n+1 < len(attrs) && attrs[i+n+1].NameStart() < end {
		n++
	}
	if i+n < len(attrs) {
		_, _, _, valueEnd := ddbjson.AttrAt(doc, attrs, i+n)
		if valueEnd < end { // the byte after the value is equal, too
			n++
		}
	}
	return n, end
}

// surelyDiffer reports whether two attributes certainly differ by meaning. Their bytes first differ at a[p] and b[q].
// It returns true if this byte is in the text of an S, or in an N whose value differs. The S or the N can be inside a
// map or a list. If it returns false, the caller must compare the attributes by meaning.
func surelyDiffer(a []byte, p int, b []byte, q int) bool {
	if p >= len(a) || q >= len(b) || a[p] == '\\' || b[q] == '\\' {
		return false
	}
	for i := p - 1; i > 5 && a[i] != '\\'; i-- {
		if a[i] != '"' {
			continue
		}
		// After these bytes, the quote at i opens the text of a value. Inside a text, quotes are escaped, and before the name
		// of a member there are other bytes.
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
