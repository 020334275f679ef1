package pipeline

import (
	"bytes"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// filler decodes what is usual straight into the memory of a Go value, in one pass
// over an image: an S into a string, an N that is short into a number, an M into a
// struct, a list into a slice that is nil. Everything else it leaves to the type's
// decoder, which goes by reflection: so does all that fails, and the errors are its.
type filler struct {
	b []byte // the image
	// texts are strings that are still ranges of b: they get memory of their own in the
	// end, all in one piece.
	texts [32]*string
	n     int
	more  []*string // than texts has room for
	size  int       // of them all, in bytes
}

// direct is what a type is to a filler.
type direct uint8

const (
	byReflection direct = iota
	directText
	directInt
	directUint
	directFloat32
	directFloat64
	directBool
	directTime
	directStruct
	directSlice
	directPointer
	directAny
)

// directOf is what d's type is to a filler, once its form is known.
func (d *typeDecoder) directOf() direct {
	switch {
	case d.asString:
		return byReflection
	case d.typ == reflect.TypeFor[time.Time]():
		return directTime
	case d.form == anyForm:
		return directAny
	case d.form != ordinary && d.form != plainByteForm:
		return byReflection
	}
	switch d.kind {
	case reflect.String:
		return directText
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return directInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return directUint
	case reflect.Float32:
		return directFloat32
	case reflect.Float64:
		return directFloat64
	case reflect.Bool:
		return directBool
	case reflect.Struct:
		return directStruct
	case reflect.Slice:
		return directSlice
	case reflect.Pointer:
		return directPointer
	default:
		return byReflection
	}
}

// fillImage decodes m into the struct at p.
func (d *typeDecoder) fillImage(m Image, p unsafe.Pointer) error {
	doc, as := m.json(), m.attrs()
	f := filler{b: doc}
	defer f.copyTexts()
	for _, a := range as {
		field := d.fields.find(a.rawName(doc))
		if field == nil {
			continue
		}
		at := a.from(doc)
		if a.kind() <= KindB {
			at-- // the quote
		}
		if _, err := f.field(d, field, a.kind(), at, p); err != nil {
			return within(appendMember(nil, a.text(doc)), err)
		}
	}
	return nil
}

// Short texts are copied in pieces, so that none keeps much of others alive.
const (
	longText  = 256  // a text's length from which it is copied apart
	fullPiece = 1024 // a piece's length from which the next text begins another
)

// text puts the text of an S into s.
func (f *filler) text(s *string, raw []byte) {
	switch {
	case bytes.IndexByte(raw, '\\') >= 0:
		*s = string(textOf(raw))
	case len(raw) >= longText || len(raw) == 0:
		*s = string(raw)
	default:
		if f.size >= fullPiece {
			f.copyTexts()
		}
		*s = view(raw)
		f.size += len(raw)
		if f.n < len(f.texts) {
			f.texts[f.n] = s
			f.n++
		} else {
			f.more = append(f.more, s)
		}
	}
}

// copyTexts ends a piece, and the decoding, also where that failed.
func (f *filler) copyTexts() {
	if f.size == 0 {
		return
	}
	var all strings.Builder
	all.Grow(f.size)
	for _, some := range [...][]*string{f.texts[:f.n], f.more} {
		for _, s := range some {
			from := all.Len()
			all.WriteString(*s)
			*s = all.String()[from:]
		}
	}
	f.n, f.more, f.size = 0, f.more[:0], 0
}

// field decodes what is at, as value does, into a field of the struct at p.
func (f *filler) field(d *typeDecoder, field *structField, kind Kind, at int, p unsafe.Pointer) (next int, err error) {
	if field.direct {
		return f.value(field.decoder, kind, at, unsafe.Add(p, field.offset))
	}
	v, next := f.ranged(kind, at)
	dst, err := field.of(reflect.NewAt(d.typ, p).Elem())
	if err != nil {
		return next, field.decoder.mismatch(v, err)
	}
	return next, field.decoder.decode(v, dst)
}

// ranged is the value of that kind whose content is at, and the position behind the content.
func (f *filler) ranged(kind Kind, at int) (v Value, next int) {
	next = contentEnd(f.b, kind, at)
	from, to := at, next
	if kind <= KindB {
		from, to = at+1, next-1
	}
	return Value{raw: f.b[from:to:to], kind: kind}, next
}

// value decodes the content at, which a tag of that kind stands before, into the
// memory at p, which is of d's type. It returns the position behind the content.
func (f *filler) value(d *typeDecoder, kind Kind, at int, p unsafe.Pointer) (next int, err error) {
	d.once.Do(d.build)
	switch d.direct {
	case directText:
		if kind == KindS {
			end := stringEnd(f.b, at+1)
			f.text((*string)(p), f.b[at+1:end])
			return end + 1, nil
		}
	case directInt:
		if kind == KindN {
			if n, end := shortInt(f.b, at+1); end > 0 && putInt(p, d.kind, n) {
				return end + 1, nil
			}
		}
	case directUint:
		if kind == KindN && f.b[at+1] != '-' {
			if n, end := shortInt(f.b, at+1); end > 0 && putUint(p, d.kind, uint64(n)) {
				return end + 1, nil
			}
		}
	case directFloat32, directFloat64:
		if kind == KindN {
			if n, end := shortFloat(f.b, at+1); end > 0 {
				if d.direct == directFloat64 {
					*(*float64)(p) = n
				} else {
					*(*float32)(p) = float32(n)
				}
				return end + 1, nil
			}
		}
	case directBool:
		if kind == KindBOOL {
			*(*bool)(p) = f.b[at] == 't'
			return contentEnd(f.b, kind, at), nil
		}
	case directTime:
		switch kind {
		case KindS:
			end := stringEnd(f.b, at+1)
			if t, err := time.Parse(time.RFC3339, view(f.b[at+1:end])); err == nil {
				*(*time.Time)(p) = t
				return end + 1, nil
			}
		case KindN:
			if n, end := shortInt(f.b, at+1); end > 0 {
				*(*time.Time)(p) = time.Unix(n, 0)
				return end + 1, nil
			}
		}
	case directStruct:
		if kind == KindM {
			return f.members(d, at, p)
		}
	case directSlice:
		if kind >= KindL && *(*unsafe.Pointer)(p) == nil {
			if n := count(f.b, kind, at); n > 0 {
				return f.list(d, kind, at, n, p)
			}
		}
	case directPointer:
		if to := (*unsafe.Pointer)(p); kind != KindNULL {
			if *to == nil {
				*to = reflect.New(d.elem.typ).UnsafePointer()
			}
			return f.value(d.elem, kind, at, *to)
		}
	case directAny:
		if *(*any)(p) == nil {
			*(*any)(p), next = anyAt(f.b, kind, at)
			return next, nil
		}
	default:
	}
	v, next := f.ranged(kind, at)
	return next, d.decode(v, reflect.NewAt(d.typ, p).Elem())
}

// members decodes the map at into the struct at p.
func (f *filler) members(d *typeDecoder, at int, p unsafe.Pointer) (behind int, err error) {
	i := inside(f.b, at)
	for f.b[i] == '"' {
		from, to, value := memberName(f.b, i)
		field := d.fields.find(f.b[from:to])
		if field == nil {
			i = next(f.b, valueEnd(f.b, value))
			continue
		}
		if i, err = f.tagged(value, func(kind Kind, at int) (int, error) { return f.field(d, field, kind, at, p) }); err != nil {
			return i, within(appendMember(nil, view(textOf(f.b[from:to]))), err)
		}
		i = next(f.b, i)
	}
	return i + 1, nil
}

// list decodes the n elements of the list or set at into the slice at p, which is nil.
func (f *filler) list(d *typeDecoder, kind Kind, at, n int, p unsafe.Pointer) (behind int, err error) {
	var base unsafe.Pointer
	if d.elem.kind == reflect.String {
		texts := make([]string, n)
		*(*[]string)(p), base = texts, unsafe.Pointer(&texts[0])
	} else {
		s := reflect.NewAt(d.typ, p).Elem()
		s.Grow(n)
		s.SetLen(n)
		base = s.UnsafePointer()
	}
	size := d.elem.typ.Size()
	i := inside(f.b, at)
	for x := range n {
		elem := unsafe.Add(base, uintptr(x)*size)
		if kind != KindL {
			i, err = f.value(d.elem, memberKind(kind), i, elem)
		} else {
			i, err = f.tagged(i, func(kind Kind, at int) (int, error) { return f.value(d.elem, kind, at, elem) })
		}
		if err != nil {
			return i, within(appendElement(nil, x), err)
		}
		i = next(f.b, i)
	}
	return i + 1, nil
}

// tagged has decode read the content of the value at i, and returns the position
// behind the value.
func (f *filler) tagged(i int, decode func(kind Kind, at int) (int, error)) (int, error) {
	kind, at := tagAt(f.b, i)
	if kind == Absent { // {}: itself the map
		_, err := decode(KindM, i)
		return at, err
	}
	end, err := decode(kind, at)
	if err != nil {
		return end, err
	}
	return closed(f.b, end), nil
}

// count is the number of elements of the list or set at.
func count(b []byte, kind Kind, at int) (n int) {
	for i := inside(b, at); b[i] != ']'; n++ {
		if kind == KindL {
			i = next(b, valueEnd(b, i))
		} else {
			i = next(b, stringEnd(b, i+1)+1)
		}
	}
	return n
}
