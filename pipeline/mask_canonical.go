package pipeline

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// appendCanonical appends what values have in common that are equal by meaning,
// and no others: the kind, then what it stands for, each part behind its length.
func appendCanonical(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case KindS, KindB:
		return appendSized(dst, textOf(v.rawBytes()))
	case KindN:
		return appendSized(dst, decimalOf(v.rawBytes()).Append(nil))
	case KindBOOL:
		return append(dst, v.rawBytes()[0])
	case KindM:
		type member struct {
			name  string
			value Value
		}
		var ms []member
		for name, e := range v.Members() {
			ms = append(ms, member{name, e})
		}
		slices.SortFunc(ms, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = binary.AppendUvarint(dst, uint64(len(ms)))
		for _, m := range ms {
			dst = appendCanonical(appendSized(dst, m.name), m.value)
		}
	case KindL:
		dst = binary.AppendUvarint(dst, uint64(v.Len()))
		for _, e := range v.Elements() {
			dst = appendCanonical(dst, e)
		}
	case KindSS, KindNS, KindBS:
		var members [][]byte
		for _, e := range v.Elements() {
			members = append(members, appendCanonical(nil, e))
		}
		slices.SortFunc(members, bytes.Compare)
		dst = binary.AppendUvarint(dst, uint64(len(members)))
		for _, m := range members {
			dst = append(dst, m...)
		}
	}
	return dst
}

func appendSized[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
