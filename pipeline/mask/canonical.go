package mask

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// appendCanonical appends bytes that are the same for values that are equal by meaning, and only for them: the kind, then
// each part after its length.
func appendCanonical(dst []byte, v item.Value) []byte {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case item.KindS, item.KindB:
		return appendSized(dst, ddbjson.TextOf(v.Raw()))
	case item.KindN:
		return appendSized(dst, ddbjson.DecimalOf(v.Raw()).Append(nil))
	case item.KindBOOL:
		return append(dst, v.Raw()[0])
	case item.KindM:
		type member struct {
			name  string
			value item.Value
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
	case item.KindL:
		dst = binary.AppendUvarint(dst, uint64(v.Len()))
		for _, e := range v.Elements() {
			dst = appendCanonical(dst, e)
		}
	case item.KindSS, item.KindNS, item.KindBS:
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

// appendSized appends the length of text and text.
func appendSized[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
