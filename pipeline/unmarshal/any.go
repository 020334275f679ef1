package unmarshal

import (
	"bytes"
	"strings"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// toAny is v as attributevalue puts it into an `any`: string, float64, []byte,
// bool, nil, map[string]any, []any, []string, []float64, [][]byte.
func toAny(v item.Value) any {
	switch v.Kind() {
	case item.KindS:
		return string(ddbjson.TextOf(v.Raw()))
	case item.KindN:
		return nearest(v.Raw())
	case item.Absent:
		return nil
	case item.KindB:
		b, _ := v.Bytes()
		return b
	default:
		out, _ := anyAt(v.Raw(), ddbjson.Tag(v.Kind()), 0)
		return out
	}
}

// anyAt is what toAny makes of the content at, which a tag of that kind stands
// before, and the position behind the content.
func anyAt(b []byte, kind ddbjson.Tag, at int) (out any, behind int) {
	switch kind {
	case ddbjson.TagS:
		end := ddbjson.StringEnd(b, at+1)
		return string(ddbjson.TextOf(b[at+1 : end])), end + 1
	case ddbjson.TagN:
		if f, end := shortFloat(b, at+1); end > 0 {
			return f, end + 1
		}
		end := ddbjson.StringEnd(b, at+1)
		return nearest(b[at+1 : end]), end + 1
	case ddbjson.TagM:
		return membersToAny(nil, b, at)
	case ddbjson.TagL:
		l := make([]any, count(b, kind, at))
		i := ddbjson.Inside(b, at)
		for x := range l {
			l[x], i = anyValue(b, i)
			i = ddbjson.Next(b, i)
		}
		return l, i + 1
	case ddbjson.TagSS:
		return textsAt(b, at)
	case ddbjson.TagNS:
		l := make([]float64, count(b, kind, at))
		i := ddbjson.Inside(b, at)
		for x := range l {
			end := ddbjson.StringEnd(b, i+1)
			l[x] = nearest(b[i+1 : end])
			i = ddbjson.Next(b, end+1)
		}
		return l, i + 1
	case ddbjson.TagBS:
		l := make([][]byte, count(b, kind, at))
		i := ddbjson.Inside(b, at)
		for x := range l {
			end := ddbjson.StringEnd(b, i+1)
			l[x], _ = item.RawValue(item.KindB, b[i+1:end]).Bytes()
			i = ddbjson.Next(b, end+1)
		}
		return l, i + 1
	default:
		end := ddbjson.ContentEnd(b, kind, at)
		switch kind {
		case ddbjson.TagBOOL:
			return b[at] == 't', end
		case ddbjson.TagB:
			bytes, _ := item.RawValue(item.KindB, b[at+1:end-1]).Bytes()
			return bytes, end
		}
		return nil, end
	}
}

// anyValue is what toAny makes of the value at i, as {"S":"x"}, and the position
// behind it.
func anyValue(b []byte, i int) (out any, behind int) {
	kind, at := ddbjson.TagAt(b, i)
	if kind == ddbjson.NoTag {
		return map[string]any{}, at
	}
	out, end := anyAt(b, kind, at)
	return out, ddbjson.Closed(b, end)
}

// membersToAny puts what toAny makes of the members of the map at into m, which it
// makes where it is nil, and returns m and the position behind the map. It looks at
// the members twice: names and texts are copied in one piece.
func membersToAny(m map[string]any, b []byte, at int) (out map[string]any, behind int) {
	n, size := 0, 0
	i := ddbjson.Inside(b, at)
	for b[i] == '"' {
		from, to, value := ddbjson.MemberName(b, i)
		kind, start := ddbjson.TagAt(b, value)
		end := start
		if kind != ddbjson.NoTag {
			end = ddbjson.ContentEnd(b, kind, start)
		}
		n++
		size += to - from
		if kind == ddbjson.TagS && end-start-2 < longText {
			size += end - start - 2
		}
		if kind != ddbjson.NoTag {
			end = ddbjson.Closed(b, end)
		}
		i = ddbjson.Next(b, end)
	}
	if m == nil {
		m = make(map[string]any, n)
	}
	texts := textBlock{}
	texts.all.Grow(size)
	i = ddbjson.Inside(b, at)
	for b[i] == '"' {
		from, to, value := ddbjson.MemberName(b, i)
		name := texts.copy(b[from:to])
		kind, start := ddbjson.TagAt(b, value)
		if kind == ddbjson.TagS {
			end := ddbjson.StringEnd(b, start+1)
			m[name] = texts.copy(b[start+1 : end])
			i = ddbjson.Next(b, ddbjson.Closed(b, end+1))
			continue
		}
		m[name], i = anyValue(b, value)
		i = ddbjson.Next(b, i)
	}
	return m, i + 1
}

// textsAt are the members of the SS at, copied in one piece, and the position behind.
func textsAt(b []byte, at int) (l []string, behind int) {
	n, size := 0, 0
	i := ddbjson.Inside(b, at)
	for ; b[i] != ']'; n++ {
		end := ddbjson.StringEnd(b, i+1)
		size += end - i - 1
		i = ddbjson.Next(b, end+1)
	}
	l = make([]string, n)
	texts := textBlock{}
	texts.all.Grow(size)
	i = ddbjson.Inside(b, at)
	for x := range l {
		end := ddbjson.StringEnd(b, i+1)
		l[x] = texts.copy(b[i+1 : end])
		i = ddbjson.Next(b, end+1)
	}
	return l, i + 1
}

// textBlock keeps texts in one piece of memory.
type textBlock struct{ all strings.Builder }

// copy is the text that a checked string stands for; a long one is kept apart.
func (t *textBlock) copy(raw []byte) string {
	if len(raw) >= longText || bytes.IndexByte(raw, '\\') >= 0 {
		return string(ddbjson.TextOf(raw))
	}
	from := t.all.Len()
	t.all.Write(raw)
	return t.all.String()[from:]
}

// nearest is the float64 nearest to a checked number.
func nearest(raw []byte) float64 {
	f, _ := parseFloat(ddbjson.View(ddbjson.TextOf(raw)))
	return f
}
