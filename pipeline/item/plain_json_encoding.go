package item

import (
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// plainWriter appends plain JSON in one pass over DynamoDB JSON. It copies strings as they are written, with their
// escapes.
type plainWriter struct {
	b          []byte // DynamoDB JSON
	forDoubles bool   // write a decimal as a JSON string if a double would lose digits
}

// doubleDigits is the number of significant digits that every double keeps.
const doubleDigits = 15

// appendContent appends the content that begins at start. The content is the JSON under a type tag, and kind is this
// tag. appendContent returns the position after the content.
func (w *plainWriter) appendContent(dst []byte, kind ddbjson.Tag, start int) ([]byte, int) {
	b := w.b
	switch kind {
	case ddbjson.TagS, ddbjson.TagB:
		end := ddbjson.StringEnd(b, start+1) + 1
		return append(dst, b[start:end]...), end
	case ddbjson.TagN:
		end := ddbjson.StringEnd(b, start+1)
		return w.appendNumber(dst, start+1, end), end + 1
	case ddbjson.TagBOOL:
		end := ddbjson.ContentEnd(b, kind, start)
		return append(dst, b[start:end]...), end
	case ddbjson.TagM:
		dst = append(dst, '{')
		i := ddbjson.FirstInside(b, start)
		for first := true; b[i] == '"'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			_, to, _, kind, start := ddbjson.MemberAt(b, i)
			dst, i = w.appendTagged(w.appendName(dst, i, to), kind, start)
			i = ddbjson.Next(b, i)
		}
		return append(dst, '}'), i + 1
	case ddbjson.TagL, ddbjson.TagSS, ddbjson.TagNS, ddbjson.TagBS:
		dst = append(dst, '[')
		i := ddbjson.FirstInside(b, start)
		for first := true; b[i] != ']'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			if kind == ddbjson.TagL {
				dst, i = w.appendValue(dst, i)
			} else {
				dst, i = w.appendContent(dst, ddbjson.MemberTag(kind), i)
			}
			i = ddbjson.Next(b, i)
		}
		return append(dst, ']'), i + 1
	default:
		return append(dst, "null"...), ddbjson.ContentEnd(b, kind, start)
	}
}

// appendValue appends the value at i, such as {"S":"x"}, and returns the position after the value.
func (w *plainWriter) appendValue(dst []byte, i int) ([]byte, int) {
	kind, start := ddbjson.TagAt(w.b, i)
	return w.appendTagged(dst, kind, start)
}

// appendTagged appends a value whose tag the caller has read: kind and start are the results of [ddbjson.TagAt].
func (w *plainWriter) appendTagged(dst []byte, kind ddbjson.Tag, start int) ([]byte, int) {
	if kind == ddbjson.NoTag {
		return append(dst, "{}"...), start
	}
	dst, end := w.appendContent(dst, kind, start)
	return dst, ddbjson.AfterBrace(w.b, end)
}

// appendName appends a member's name and a colon. from and to are the positions of the name's quotes.
func (w *plainWriter) appendName(dst []byte, from, to int) []byte {
	if w.b[to+1] == ':' {
		return append(dst, w.b[from:to+2]...)
	}
	return append(append(dst, w.b[from:to+1]...), ':')
}

// appendNumber appends the N between the positions from and to.
func (w *plainWriter) appendNumber(dst []byte, from, to int) []byte {
	raw := w.b[from:to]
	isCanonical, digits, fraction := canonicalDigits(raw)
	fitsDouble := digits <= doubleDigits || fraction == 0
	if isCanonical && (fitsDouble || !w.forDoubles) {
		return append(dst, w.b[from:to]...)
	}
	d := ddbjson.DecimalOf(raw)
	if w.forDoubles && losesDigits(d) {
		return append(d.Append(append(dst, '"')), '"')
	}
	return d.Append(dst)
}

// losesDigits reports whether d has a fraction, and more digits than every double keeps.
func losesDigits(d decimal.Decimal) bool {
	digits, exponent := d.Digits()
	hasFraction := exponent < len(digits)
	return hasFraction && len(digits) > doubleDigits
}

// appendItem appends an image. It finds the attributes with the index of the image.
func (w *plainWriter) appendItem(dst []byte, m Image) []byte {
	dst = append(dst, '{')
	attrs := m.Index()
	for i := range attrs {
		if i > 0 {
			dst = append(dst, ',')
		}
		nameStart, nameEnd, from, to := ddbjson.AttrAt(w.b, attrs, i)
		dst = w.appendName(dst, nameStart-1, nameEnd)
		switch kind := attrs[i].Tag(); kind {
		case ddbjson.TagS, ddbjson.TagB:
			dst = append(dst, w.b[from-1:to+1]...)
		case ddbjson.TagN:
			dst = w.appendNumber(dst, from, to)
		default:
			dst, _ = w.appendContent(dst, kind, from)
		}
	}
	return append(dst, '}')
}

// appendDocument appends a value that is not part of another value.
func (w *plainWriter) appendDocument(dst []byte, v Value) []byte {
	switch v.kind {
	case KindS, KindB:
		return ddbjson.AppendString(dst, v.raw)
	case KindN:
		w.b = v.raw
		return w.appendNumber(dst, 0, len(v.raw))
	case Absent:
		return append(dst, "null"...)
	default:
		w.b = v.raw
		dst, _ = w.appendContent(dst, ddbjson.Tag(v.kind), 0)
		return dst
	}
}
