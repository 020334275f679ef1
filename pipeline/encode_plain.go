package pipeline

// plain appends plain JSON in one pass over DynamoDB JSON: what is inside strings is
// plain JSON already, and is copied as it stands.
type plain struct {
	b       []byte // the DynamoDB JSON
	doubles bool   // a decimal that no double keeps becomes a string
}

// doubleDigits is how many significant digits of a decimal every double keeps.
const doubleDigits = 15

// content appends the content at, which a tag of that kind stands before, and returns
// the position behind it.
func (p *plain) content(dst []byte, kind Kind, at int) ([]byte, int) {
	b := p.b
	switch kind {
	case KindS, KindB:
		end := stringEnd(b, at+1) + 1
		return append(dst, b[at:end]...), end
	case KindN:
		end := stringEnd(b, at+1)
		return p.number(dst, b[at+1:end]), end + 1
	case KindBOOL:
		end := contentEnd(b, kind, at)
		return append(dst, b[at:end]...), end
	case KindM:
		dst = append(dst, '{')
		i := inside(b, at)
		for first := true; b[i] == '"'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			_, to, value := memberName(b, i)
			dst = append(append(dst, b[i:to+1]...), ':')
			dst, i = p.value(dst, value)
			i = next(b, i)
		}
		return append(dst, '}'), i + 1
	case KindL, KindSS, KindNS, KindBS:
		dst = append(dst, '[')
		i := inside(b, at)
		for first := true; b[i] != ']'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			if kind == KindL {
				dst, i = p.value(dst, i)
			} else {
				dst, i = p.content(dst, memberKind(kind), i)
			}
			i = next(b, i)
		}
		return append(dst, ']'), i + 1
	default:
		return append(dst, "null"...), contentEnd(b, kind, at)
	}
}

// value appends the value at i, as {"S":"x"}, and returns the position behind it.
func (p *plain) value(dst []byte, i int) ([]byte, int) {
	kind, at := tagAt(p.b, i)
	if kind == Absent {
		return append(dst, "{}"...), at
	}
	dst, end := p.content(dst, kind, at)
	return dst, closed(p.b, end)
}

// number appends an N.
func (p *plain) number(dst, raw []byte) []byte {
	canonical, digits, fraction := measure(raw)
	if canonical && (digits <= doubleDigits || fraction == 0 || !p.doubles) {
		return append(dst, raw...)
	}
	d := decimalOf(raw)
	if p.doubles && d.exp < 0 && d.coefficient().digits() > doubleDigits {
		return append(d.Append(append(dst, '"')), '"')
	}
	return d.Append(dst)
}

// item appends an image. Of an image, unlike of an M, the attributes are indexed.
func (p *plain) item(dst []byte, m Image) []byte {
	dst = append(dst, '{')
	as := m.attrs()
	for i := range as {
		if i > 0 {
			dst = append(dst, ',')
		}
		e := extentOf(p.b, as, i)
		dst = append(append(dst, p.b[e.name-1:e.nameEnd+1]...), ':')
		switch e.kind {
		case KindS, KindB:
			dst = append(dst, p.b[e.from-1:e.to+1]...)
		case KindN:
			dst = p.number(dst, p.b[e.from:e.to])
		default:
			dst, _ = p.content(dst, e.kind, e.from)
		}
	}
	return append(dst, '}')
}

// whole appends a value that stands alone.
func (p *plain) whole(dst []byte, v Value) []byte {
	switch v.kind {
	case KindS, KindB:
		return appendString(dst, v.raw)
	case KindN:
		return p.number(dst, v.raw)
	case Absent:
		return append(dst, "null"...)
	default:
		p.b = v.raw
		dst, _ = p.content(dst, v.kind, 0)
		return dst
	}
}
