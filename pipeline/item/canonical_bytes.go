package item

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// AppendCanonical appends the canonical bytes of v: its kind, then its content. A length precedes each text, and a
// count precedes the members of a map, a list or a set. Two values have the same canonical bytes if and only if they
// are Equal. Masked texts and saved digests are made from canonical bytes, so the encoding never changes.
func (v Value) AppendCanonical(dst []byte) []byte {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case KindS, KindB:
		return appendLengthPrefixed(dst, ddbjson.TextOf(v.Raw()))
	case KindN:
		var number [64]byte
		return appendLengthPrefixed(dst, ddbjson.DecimalOf(v.Raw()).Append(number[:0]))
	case KindBOOL:
		return append(dst, v.Raw()[0])
	case KindM:
		members := appendMembers(nil, walk(v.raw))
		slices.SortFunc(members, pair.compare)
		dst = binary.AppendUvarint(dst, uint64(len(members)))
		for _, m := range members {
			dst = m.old.AppendCanonical(appendLengthPrefixed(dst, m.name))
		}
	case KindL:
		dst = binary.AppendUvarint(dst, uint64(v.Len()))
		for _, e := range v.Elements() {
			dst = e.AppendCanonical(dst)
		}
	case KindSS, KindNS, KindBS:
		return v.appendCanonicalSet(dst)
	}
	return dst
}

// appendCanonicalSet appends the elements of a set in the order of their canonical bytes.
func (v Value) appendCanonicalSet(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(v.Len()))
	setStart := len(dst)
	var buffer [16][2]int
	elements := buffer[:0] // start and end in dst
	for _, e := range v.Elements() {
		start := len(dst)
		dst = e.AppendCanonical(dst)
		elements = append(elements, [2]int{start, len(dst)})
	}
	compare := func(a, b [2]int) int { return bytes.Compare(dst[a[0]:a[1]], dst[b[0]:b[1]]) }
	if slices.IsSortedFunc(elements, compare) {
		return dst
	}
	slices.SortFunc(elements, compare)
	end := len(dst)
	for _, e := range elements {
		dst = append(dst, dst[e[0]:e[1]]...)
	}
	return dst[:setStart+copy(dst[setStart:], dst[end:])]
}

// appendLengthPrefixed appends the length of text, then text.
func appendLengthPrefixed[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
