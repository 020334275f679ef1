package pipeline

import (
	"bytes"
	"strings"
)

// toAny is v as attributevalue puts it into an `any`: string, float64, []byte,
// bool, nil, map[string]any, []any, []string, []float64, [][]byte.
func toAny(v Value) any {
	switch v.Kind() {
	case KindS:
		return string(textOf(v.rawBytes()))
	case KindN:
		return nearest(v.rawBytes())
	case Absent:
		return nil
	case KindB:
		b, _ := v.Bytes()
		return b
	default:
		out, _ := anyAt(v.rawBytes(), typeTag(v.Kind()), 0)
		return out
	}
}

// anyAt is what toAny makes of the content at, which a tag of that kind stands
// before, and the position behind the content.
func anyAt(b []byte, kind typeTag, at int) (out any, behind int) {
	switch kind {
	case tagS:
		end := stringEnd(b, at+1)
		return string(textOf(b[at+1 : end])), end + 1
	case tagN:
		if f, end := shortFloat(b, at+1); end > 0 {
			return f, end + 1
		}
		end := stringEnd(b, at+1)
		return nearest(b[at+1 : end]), end + 1
	case tagM:
		return membersToAny(nil, b, at)
	case tagL:
		l := make([]any, count(b, kind, at))
		i := inside(b, at)
		for x := range l {
			l[x], i = anyValue(b, i)
			i = next(b, i)
		}
		return l, i + 1
	case tagSS:
		return textsAt(b, at)
	case tagNS:
		l := make([]float64, count(b, kind, at))
		i := inside(b, at)
		for x := range l {
			end := stringEnd(b, i+1)
			l[x] = nearest(b[i+1 : end])
			i = next(b, end+1)
		}
		return l, i + 1
	case tagBS:
		l := make([][]byte, count(b, kind, at))
		i := inside(b, at)
		for x := range l {
			end := stringEnd(b, i+1)
			l[x], _ = rawValue(KindB, b[i+1:end]).Bytes()
			i = next(b, end+1)
		}
		return l, i + 1
	default:
		end := contentEnd(b, kind, at)
		switch kind {
		case tagBOOL:
			return b[at] == 't', end
		case tagB:
			bytes, _ := rawValue(KindB, b[at+1:end-1]).Bytes()
			return bytes, end
		}
		return nil, end
	}
}

// anyValue is what toAny makes of the value at i, as {"S":"x"}, and the position
// behind it.
func anyValue(b []byte, i int) (out any, behind int) {
	kind, at := tagAt(b, i)
	if kind == noTag {
		return map[string]any{}, at
	}
	out, end := anyAt(b, kind, at)
	return out, closed(b, end)
}

// membersToAny puts what toAny makes of the members of the map at into m, which it
// makes where it is nil, and returns m and the position behind the map. It looks at
// the members twice: names and texts are copied in one piece.
func membersToAny(m map[string]any, b []byte, at int) (out map[string]any, behind int) {
	n, size := 0, 0
	i := inside(b, at)
	for b[i] == '"' {
		from, to, value := memberName(b, i)
		kind, start := tagAt(b, value)
		end := start
		if kind != noTag {
			end = contentEnd(b, kind, start)
		}
		n++
		size += to - from
		if kind == tagS && end-start-2 < longText {
			size += end - start - 2
		}
		if kind != noTag {
			end = closed(b, end)
		}
		i = next(b, end)
	}
	if m == nil {
		m = make(map[string]any, n)
	}
	texts := textBlock{}
	texts.all.Grow(size)
	i = inside(b, at)
	for b[i] == '"' {
		from, to, value := memberName(b, i)
		name := texts.copy(b[from:to])
		kind, start := tagAt(b, value)
		if kind == tagS {
			end := stringEnd(b, start+1)
			m[name] = texts.copy(b[start+1 : end])
			i = next(b, closed(b, end+1))
			continue
		}
		m[name], i = anyValue(b, value)
		i = next(b, i)
	}
	return m, i + 1
}

// textsAt are the members of the SS at, copied in one piece, and the position behind.
func textsAt(b []byte, at int) (l []string, behind int) {
	n, size := 0, 0
	i := inside(b, at)
	for ; b[i] != ']'; n++ {
		end := stringEnd(b, i+1)
		size += end - i - 1
		i = next(b, end+1)
	}
	l = make([]string, n)
	texts := textBlock{}
	texts.all.Grow(size)
	i = inside(b, at)
	for x := range l {
		end := stringEnd(b, i+1)
		l[x] = texts.copy(b[i+1 : end])
		i = next(b, end+1)
	}
	return l, i + 1
}

// textBlock keeps texts in one piece of memory.
type textBlock struct{ all strings.Builder }

// copy is the text that a checked string stands for; a long one is kept apart.
func (t *textBlock) copy(raw []byte) string {
	if len(raw) >= longText || bytes.IndexByte(raw, '\\') >= 0 {
		return string(textOf(raw))
	}
	from := t.all.Len()
	t.all.Write(raw)
	return t.all.String()[from:]
}

// nearest is the float64 nearest to a checked number.
func nearest(raw []byte) float64 {
	f, _ := parseFloat(view(textOf(raw)))
	return f
}
