package unmarshal

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// decodeAny decodes a content. at is its position, and tag is the tag of its value. out has the type that the SDK's
// attributevalue stores in an `any`: string, float64, []byte, bool, nil, map[string]any, []any, []string, []float64 or
// [][]byte.
func (d *imageDecoder) decodeAny(tag ddbjson.Tag, at int) (out any, next int) {
	switch tag {
	case ddbjson.TagM:
		return d.anyMembers(nil, at)
	case ddbjson.TagL:
		l := make([]any, d.count(tag, at))
		i := ddbjson.FirstInside(d.doc, at)
		for x := range l {
			elemTag, elemAt := ddbjson.TagAt(d.doc, i)
			l[x], i = d.decodeTagged(elemTag, elemAt)
			i = ddbjson.Next(d.doc, i)
		}
		return l, i + 1
	case ddbjson.TagSS:
		return anySet(d, tag, at, d.texts.copy)
	case ddbjson.TagNS:
		return anySet(d, tag, at, nearestFloat)
	case ddbjson.TagBS:
		return anySet(d, tag, at, bytesOf)
	}
	v, next := d.itemValue(tag, at)
	switch tag {
	case ddbjson.TagS:
		return d.texts.copy(v.Raw()), next
	case ddbjson.TagN:
		return nearestFloat(v.Raw()), next
	case ddbjson.TagB:
		return bytesOf(v.Raw()), next
	case ddbjson.TagBOOL:
		return v.Raw()[0] == 't', next
	default:
		return nil, next
	}
}

// decodeTagged decodes a value whose tag the caller has read. at is the position of the value's content.
func (d *imageDecoder) decodeTagged(tag ddbjson.Tag, at int) (out any, next int) {
	if tag == ddbjson.NoTag { // {} is an empty map, and at is the position after it
		return map[string]any{}, at
	}
	out, next = d.decodeAny(tag, at)
	return out, ddbjson.AfterBrace(d.doc, next)
}

// anyMembers stores the members of an M in m. It makes m if m is nil.
func (d *imageDecoder) anyMembers(m map[string]any, at int) (out map[string]any, next int) {
	if m == nil {
		m = make(map[string]any, d.count(ddbjson.TagM, at))
	}
	i := ddbjson.FirstInside(d.doc, at)
	for d.doc[i] == '"' {
		from, to, _, tag, at := ddbjson.MemberAt(d.doc, i)
		name := d.texts.copy(d.doc[from:to])
		m[name], i = d.decodeTagged(tag, at)
		i = ddbjson.Next(d.doc, i)
	}
	return m, i + 1
}

// anySet returns the members of a set as a []T. read converts the text between the quotes of a member.
func anySet[T any](d *imageDecoder, tag ddbjson.Tag, at int, read func(raw []byte) T) (out any, next int) {
	set := make([]T, d.count(tag, at))
	i := ddbjson.FirstInside(d.doc, at)
	for x := range set {
		end := ddbjson.StringEnd(d.doc, i+1)
		set[x] = read(d.doc[i+1 : end])
		i = ddbjson.Next(d.doc, end+1)
	}
	return set, i + 1
}

// nearestFloat returns the float64 that is nearest to a checked number.
func nearestFloat(raw []byte) float64 {
	f, _ := parseFloat(textOf(raw))
	return f
}
