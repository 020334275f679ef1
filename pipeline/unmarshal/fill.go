package unmarshal

import (
	"reflect"
	"time"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// filler decodes what is usual straight into the memory of a Go value, in one pass
// over an image: an S into a string, an N that is short into a number, an M into a
// struct, a list into a slice that is nil. Everything else it leaves to the type's
// decoder, which goes by reflection: so does all that fails, and the errors are its.
type filler struct {
	b     []byte // the image
	texts texts
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
func (d *typeDecoder) fillImage(m item.Image, p unsafe.Pointer) error {
	doc := m.Bytes()
	f := filler{b: doc, texts: texts{b: doc}}
	f.texts.enter(p, d.typ.Size())
	err := f.attributes(d, m.Index(), p)
	f.texts.settle()
	return err
}

// attributes decodes the attributes as into the struct at p. Where they begin and end
// stands in the index.
func (f *filler) attributes(d *typeDecoder, as []ddbjson.Attr, p unsafe.Pointer) error {
	seen := uint64(0)
	expected := &d.fields.first
	for i, a := range as {
		name, nameEnd, from, to := a.NameStart(), a.NameStart()+a.NameLen(), 0, 0
		if a.Far() {
			e := a.Unpack(f.b)
			nameEnd, from, to = e.NameEnd, e.From, e.To
		} else if from, to = nameEnd+a.Gap(), len(f.b)-a.Tail(); i+1 < len(as) {
			to = as[i+1].NameStart() - a.Tail()
		}
		field := expected.field.Load()
		if field == nil || nameEnd-name != len(field.name) || !field.begins(f.b, name) {
			if field = expected.learn(d.fields, f.b, name, nameEnd); field == nil {
				continue
			}
		}
		expected = &field.next
		f.again(&seen, field)
		kind := a.Tag()
		if kind == ddbjson.TagS && field.text {
			f.texts.put(unsafe.Add(p, field.offset), from, to)
			continue
		}
		if kind <= ddbjson.TagB {
			from-- // the quote
		}
		if _, err := f.field(d, field, kind, from, p); err != nil {
			return within(ddbjson.AppendMember(nil, a.Text(f.b)), err)
		}
	}
	return nil
}

// again ends a piece of texts before a field is decoded into once more, as names that
// differ in case only may have it.
func (f *filler) again(seen *uint64, field *structField) {
	if *seen&field.bit != 0 {
		f.texts.settle()
		*seen = 0
	}
	*seen |= field.bit
}

// field decodes what is at, as value does, into a field of the struct at p.
func (f *filler) field(d *typeDecoder, field *structField, kind ddbjson.Tag, at int, p unsafe.Pointer) (next int, err error) {
	if field.direct {
		return f.value(field.decoder, kind, at, unsafe.Add(p, field.offset))
	}
	f.texts.settle()
	v, next := f.ranged(kind, at)
	dst, err := field.of(reflect.NewAt(d.typ, p).Elem())
	if err != nil {
		return next, field.decoder.mismatch(v, err)
	}
	return next, field.decoder.decode(v, dst)
}

// ranged is the value of that kind whose content is at, and the position behind the content.
func (f *filler) ranged(kind ddbjson.Tag, at int) (v item.Value, next int) {
	next = ddbjson.ContentEnd(f.b, kind, at)
	from, to := at, next
	if kind <= ddbjson.TagB {
		from, to = at+1, next-1
	}
	return item.RawValue(item.Kind(kind), f.b[from:to:to]), next
}

// value decodes the content at, which a tag of that kind stands before, into the
// memory at p, which is of d's type. It returns the position behind the content.
func (f *filler) value(d *typeDecoder, kind ddbjson.Tag, at int, p unsafe.Pointer) (next int, err error) {
	d.once.Do(d.build)
	switch d.direct {
	case directText:
		if kind == ddbjson.TagS {
			end := ddbjson.StringEnd(f.b, at+1)
			f.texts.put(p, at+1, end)
			return end + 1, nil
		}
	case directInt:
		if kind == ddbjson.TagN {
			if n, end := shortInt(f.b, at+1); end > 0 && putInt(p, d.kind, n) {
				return end + 1, nil
			}
		}
	case directUint:
		if kind == ddbjson.TagN && f.b[at+1] != '-' {
			if n, end := shortInt(f.b, at+1); end > 0 && putUint(p, d.kind, uint64(n)) {
				return end + 1, nil
			}
		}
	case directFloat32, directFloat64:
		if kind == ddbjson.TagN {
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
		if kind == ddbjson.TagBOOL {
			*(*bool)(p) = f.b[at] == 't'
			return ddbjson.ContentEnd(f.b, kind, at), nil
		}
	case directTime:
		switch kind {
		case ddbjson.TagS:
			end := ddbjson.StringEnd(f.b, at+1)
			if t, err := time.Parse(time.RFC3339, ddbjson.View(f.b[at+1:end])); err == nil {
				*(*time.Time)(p) = t
				return end + 1, nil
			}
		case ddbjson.TagN:
			if n, end := shortInt(f.b, at+1); end > 0 {
				*(*time.Time)(p) = time.Unix(n, 0)
				return end + 1, nil
			}
		}
	case directStruct:
		if kind == ddbjson.TagM {
			return f.members(d, at, p)
		}
	case directSlice:
		if kind >= ddbjson.TagL && *(*unsafe.Pointer)(p) == nil {
			if n := count(f.b, kind, at); n > 0 {
				return f.list(d, kind, at, n, p)
			}
		}
	case directPointer:
		to := (*unsafe.Pointer)(p)
		if kind == ddbjson.TagNULL {
			*to = nil
			return ddbjson.ContentEnd(f.b, kind, at), nil
		}
		if *to != nil { // what it leads to may be what another does
			f.texts.settle()
			next, err = f.value(d.elem, kind, at, *to)
			f.texts.settle()
			return next, err
		}
		*to = reflect.New(d.elem.typ).UnsafePointer()
		f.texts.enter(*to, d.elem.typ.Size())
		return f.value(d.elem, kind, at, *to)
	case directAny:
		if *(*any)(p) == nil {
			*(*any)(p), next = anyAt(f.b, kind, at)
			return next, nil
		}
	default:
	}
	f.texts.settle()
	v, next := f.ranged(kind, at)
	return next, d.decode(v, reflect.NewAt(d.typ, p).Elem())
}

// members decodes the map at into the struct at p.
func (f *filler) members(d *typeDecoder, at int, p unsafe.Pointer) (behind int, err error) {
	i := ddbjson.Inside(f.b, at)
	seen := uint64(0)
	expected := &d.fields.first
	for f.b[i] == '"' {
		var from, to, value, at int
		var kind ddbjson.Tag
		field := expected.field.Load()
		known := field != nil && field.begins(f.b, i+1) && f.b[i+1+len(field.name)] == '"'
		if known {
			from, to = i+1, i+1+len(field.name)
			value, kind, at = to+2, ddbjson.CompactTagAt(f.b, to), to+ddbjson.CompactTagLen
		}
		if kind == ddbjson.NoTag {
			from, to, value, kind, at = ddbjson.MemberAt(f.b, i)
		}
		if !known {
			if field = expected.learn(d.fields, f.b, from, to); field == nil {
				i = ddbjson.Next(f.b, ddbjson.ValueEnd(f.b, value))
				continue
			}
		}
		expected = &field.next
		f.again(&seen, field)
		if kind == ddbjson.TagS && field.text {
			end := ddbjson.StringEnd(f.b, at+1)
			f.texts.put(unsafe.Add(p, field.offset), at+1, end)
			i = ddbjson.Next(f.b, ddbjson.Closed(f.b, end+1))
			continue
		}
		if kind == ddbjson.NoTag { // {}: itself the map
			i = at
			_, err = f.field(d, field, ddbjson.TagM, value, p)
		} else if i, err = f.field(d, field, kind, at, p); err == nil {
			i = ddbjson.Closed(f.b, i)
		}
		if err != nil {
			return i, within(ddbjson.AppendMember(nil, ddbjson.View(ddbjson.TextOf(f.b[from:to]))), err)
		}
		i = ddbjson.Next(f.b, i)
	}
	return i + 1, nil
}

// list decodes the n elements of the list or set at into the slice at p, which is nil.
func (f *filler) list(d *typeDecoder, kind ddbjson.Tag, at, n int, p unsafe.Pointer) (behind int, err error) {
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
	f.texts.enter(base, uintptr(n)*size)
	i := ddbjson.Inside(f.b, at)
	for x := range n {
		elem := unsafe.Add(base, uintptr(x)*size)
		switch {
		case kind != ddbjson.TagL:
			i, err = f.value(d.elem, ddbjson.MemberTag(kind), i, elem)
		default:
			tag, at := ddbjson.TagAt(f.b, i)
			if tag == ddbjson.NoTag { // {}: itself the map
				_, err = f.value(d.elem, ddbjson.TagM, i, elem)
				i = at
			} else if i, err = f.value(d.elem, tag, at, elem); err == nil {
				i = ddbjson.Closed(f.b, i)
			}
		}
		if err != nil {
			return i, within(ddbjson.AppendElement(nil, x), err)
		}
		i = ddbjson.Next(f.b, i)
	}
	return i + 1, nil
}

// count is the number of elements of the list or set at.
func count(b []byte, kind ddbjson.Tag, at int) (n int) {
	for i := ddbjson.Inside(b, at); b[i] != ']'; n++ {
		if kind == ddbjson.TagL {
			i = ddbjson.Next(b, ddbjson.ValueEnd(b, i))
		} else {
			i = ddbjson.Next(b, ddbjson.StringEnd(b, i+1)+1)
		}
	}
	return n
}
