package item

import (
	"encoding/binary"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

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
func (p *plain) content(dst []byte, kind ddbjson.Tag, at int) ([]byte, int) {
	b := p.b
	switch kind {
	case ddbjson.TagS, ddbjson.TagB:
		end := ddbjson.StringEnd(b, at+1) + 1
		return appendPiece(dst, b, at, end), end
	case ddbjson.TagN:
		end := ddbjson.StringEnd(b, at+1)
		return p.number(dst, at+1, end), end + 1
	case ddbjson.TagBOOL:
		end := ddbjson.ContentEnd(b, kind, at)
		return append(dst, b[at:end]...), end
	case ddbjson.TagM:
		dst = append(dst, '{')
		i := ddbjson.Inside(b, at)
		for first := true; b[i] == '"'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			_, to, _, kind, at := ddbjson.MemberAt(b, i)
			dst, i = p.tagged(p.name(dst, i, to), kind, at)
			i = ddbjson.Next(b, i)
		}
		return append(dst, '}'), i + 1
	case ddbjson.TagL, ddbjson.TagSS, ddbjson.TagNS, ddbjson.TagBS:
		dst = append(dst, '[')
		i := ddbjson.Inside(b, at)
		for first := true; b[i] != ']'; first = false {
			if !first {
				dst = append(dst, ',')
			}
			if kind == ddbjson.TagL {
				dst, i = p.value(dst, i)
			} else {
				dst, i = p.content(dst, ddbjson.MemberTag(kind), i)
			}
			i = ddbjson.Next(b, i)
		}
		return append(dst, ']'), i + 1
	default:
		return append(dst, "null"...), ddbjson.ContentEnd(b, kind, at)
	}
}

// value appends the value at i, as {"S":"x"}, and returns the position behind it.
func (p *plain) value(dst []byte, i int) ([]byte, int) {
	kind, at := ddbjson.TagAt(p.b, i)
	return p.tagged(dst, kind, at)
}

// tagged appends the value that has such a tag, as tagAt says it.
func (p *plain) tagged(dst []byte, kind ddbjson.Tag, at int) ([]byte, int) {
	if kind == ddbjson.NoTag {
		return append(dst, "{}"...), at
	}
	dst, end := p.content(dst, kind, at)
	return dst, ddbjson.Closed(p.b, end)
}

// name appends a member's name, whose quotes are at from and to, and a colon.
func (p *plain) name(dst []byte, from, to int) []byte {
	if p.b[to+1] == ':' {
		return appendPiece(dst, p.b, from, to+2)
	}
	return append(appendPiece(dst, p.b, from, to+1), ':')
}

// number appends an N.
func (p *plain) number(dst []byte, from, to int) []byte {
	raw := p.b[from:to]
	canonical, digits, fraction := measure(raw)
	if canonical && (digits <= doubleDigits || fraction == 0 || !p.doubles) {
		return appendPiece(dst, p.b, from, to)
	}
	d := ddbjson.DecimalOf(raw)
	if significant, exponent := d.Digits(); p.doubles && exponent < len(significant) && len(significant) > doubleDigits {
		return append(d.Append(append(dst, '"')), '"')
	}
	return d.Append(dst)
}

// item appends an image. Of an image, unlike of an M, the attributes are indexed.
func (p *plain) item(dst []byte, m Image) []byte {
	dst = append(dst, '{')
	as := m.Index()
	for i := range as {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, nameEnd, from, to := ddbjson.PlacesOf(p.b, as, i)
		dst = p.name(dst, name-1, nameEnd)
		switch kind := as[i].Tag(); kind {
		case ddbjson.TagS, ddbjson.TagB:
			dst = appendPiece(dst, p.b, from-1, to+1)
		case ddbjson.TagN:
			dst = p.number(dst, from, to)
		default:
			dst, _ = p.content(dst, kind, from)
		}
	}
	return append(dst, '}')
}

// whole appends a value that stands alone.
func (p *plain) whole(dst []byte, v Value) []byte {
	switch v.kind {
	case KindS, KindB:
		return ddbjson.AppendString(dst, v.raw)
	case KindN:
		p.b = v.raw
		return p.number(dst, 0, len(v.raw))
	case Absent:
		return append(dst, "null"...)
	default:
		p.b = v.raw
		dst, _ = p.content(dst, ddbjson.Tag(v.kind), 0)
		return dst
	}
}

// appendPiece is append(dst, b[from:to]...), for pieces of which most are short: where both
// have the room, 32 bytes are copied whatever the length is, which takes no call.
func appendPiece(dst, b []byte, from, to int) []byte {
	const most = 32
	n := len(dst)
	if to-from > most || from+most > len(b) || n+most > cap(dst) {
		return append(dst, b[from:to]...)
	}
	src, out := b[from:from+most], dst[n:n+most]
	w0, w1 := binary.NativeEndian.Uint64(src), binary.NativeEndian.Uint64(src[8:])
	w2, w3 := binary.NativeEndian.Uint64(src[16:]), binary.NativeEndian.Uint64(src[24:])
	binary.NativeEndian.PutUint64(out, w0)
	binary.NativeEndian.PutUint64(out[8:], w1)
	binary.NativeEndian.PutUint64(out[16:], w2)
	binary.NativeEndian.PutUint64(out[24:], w3)
	return dst[:n+to-from]
}
