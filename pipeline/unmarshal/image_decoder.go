package unmarshal

import (
	"fmt"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// imageDecoder decodes one image in one pass over its JSON. The JSON was checked when the image was made.
//
// Positions are positions in doc. i is the position of a value such as {"S":"x"}, and at is the position of its
// content, here "x", which follows the tag. A method that decodes a content returns the position after the content.
// After an error, this position is undefined.
type imageDecoder struct {
	doc   []byte
	texts textBuffer
}

// decodeImage decodes m into dst. The type of dst is the type of the plan.
func decodeImage(m item.Image, p *typePlan, dst target) error {
	doc := m.Bytes()
	d := imageDecoder{doc: doc, texts: newTextBuffer(len(doc))}
	p.once.Do(p.build)
	if p.form == formStruct {
		return d.attributes(p, m.Index(), dst)
	}
	_, err := d.decodeContent(p, ddbjson.TagM, 0, dst)
	return err
}

// attributes decodes an image into a struct. It searches nothing, because index has the positions of the image's
// attributes.
func (d *imageDecoder) attributes(p *typePlan, index []ddbjson.Attr, dst target) error {
	for i, a := range index {
		name, nameEnd, from, to := ddbjson.AttrAt(d.doc, index, i)
		f := p.fields.find(d.doc[name:nameEnd])
		if f == nil {
			continue
		}
		tag := a.Tag()
		field, err := f.fieldOf(dst)
		switch {
		case err != nil:
			err = f.plan.mismatch(tag, err)
		case tag == ddbjson.TagS && f.plan.form == formString:
			*as[string](field) = d.texts.copy(d.doc[from:to])
		case tag <= ddbjson.TagB:
			_, err = d.decodeContent(f.plan, tag, from-1, field) // the content starts at the quote
		default:
			_, err = d.decodeContent(f.plan, tag, from, field)
		}
		if err != nil {
			return prependPath(ddbjson.AppendMember(nil, a.Text(d.doc)), err)
		}
	}
	return nil
}

// decodeValue decodes the value at i. The caller has read the tag of the value. at is the position of the value's
// content.
func (d *imageDecoder) decodeValue(p *typePlan, tag ddbjson.Tag, i, at int, dst target) (next int, err error) {
	if tag == ddbjson.NoTag { // {} is an empty map, and at is the position after it
		_, err = d.decodeContent(p, ddbjson.TagM, i, dst)
		return at, err
	}
	if next, err = d.decodeContent(p, tag, at, dst); err != nil {
		return 0, err
	}
	return ddbjson.AfterBrace(d.doc, next), nil
}

// decodeContent decodes the content of a value. tag is the tag of the value, and at is the position of the content.
func (d *imageDecoder) decodeContent(p *typePlan, tag ddbjson.Tag, at int, dst target) (next int, err error) {
	p.once.Do(p.build)
	switch {
	case p.form == formString && tag == ddbjson.TagS: // most values are texts
		end := ddbjson.StringEnd(d.doc, at+1)
		*as[string](dst) = d.texts.copy(d.doc[at+1 : end])
		return end + 1, nil
	case p.form >= formPointer:
		return d.nullable(p, tag, at, dst)
	case tag == ddbjson.TagNULL:
		dst.value(p.typ).SetZero()
		return ddbjson.ContentEnd(d.doc, tag, at), nil
	case p.form == formInterface:
		return d.intoInterface(p, tag, at, dst)
	}
	switch tag {
	case ddbjson.TagS, ddbjson.TagN, ddbjson.TagB:
		end := ddbjson.StringEnd(d.doc, at+1)
		return end + 1, d.scalar(p, tag, d.doc[at+1:end], dst)
	case ddbjson.TagBOOL:
		if p.form != formBool {
			return 0, p.mismatch(tag, nil)
		}
		*as[bool](dst) = d.doc[at] == 't'
		return ddbjson.ContentEnd(d.doc, tag, at), nil
	case ddbjson.TagM:
		return d.members(p, at, dst)
	default:
		return d.list(p, tag, at, dst)
	}
}

// nullable decodes a content into a type whose form handles NULL in its own way.
func (d *imageDecoder) nullable(p *typePlan, tag ddbjson.Tag, at int, dst target) (next int, err error) {
	switch p.form {
	case formPointer:
		return d.pointer(p, tag, at, dst)
	case formUnmarshaler:
		v, next := d.itemValue(tag, at)
		if err := dst.value(p.typ).Addr().Interface().(Unmarshaler).UnmarshalDynamoDB(v); err != nil {
			return 0, p.mismatch(tag, err)
		}
		return next, nil
	case formValue:
		v, next := d.itemValue(tag, at)
		*as[item.Value](dst) = v.Clone()
		return next, nil
	case formSDKUnmarshaler:
		return 0, p.mismatch(tag, errSDKUnmarshaler)
	}
	switch tag { // formUnexportedStruct
	case ddbjson.TagNULL:
		return ddbjson.ContentEnd(d.doc, tag, at), nil
	case ddbjson.TagM:
		return d.members(p, at, dst)
	default:
		return 0, p.mismatch(tag, errUnexported)
	}
}

// itemValue returns a value, and the position after its content. tag is the tag of the value, and at is the position of
// the content.
func (d *imageDecoder) itemValue(tag ddbjson.Tag, at int) (v item.Value, next int) {
	next = ddbjson.ContentEnd(d.doc, tag, at)
	from, to := at, next
	if tag <= ddbjson.TagB { // without the quotes
		from, to = at+1, next-1
	}
	return item.RawValue(item.Kind(tag), d.doc[from:to:to]), next
}

// mismatch returns the error for a value that does not fit the plan's type. err is the reason. It is nil if a value
// with this tag never fits the type.
func (p *typePlan) mismatch(tag ddbjson.Tag, err error) error {
	return &DecodeError{Kind: item.Kind(tag), Type: p.typ, Err: err}
}

// pointer decodes a content into the memory that a pointer points to. It allocates this memory if the pointer is nil.
func (d *imageDecoder) pointer(p *typePlan, tag ddbjson.Tag, at int, dst target) (next int, err error) {
	if tag == ddbjson.TagNULL && !p.unexported {
		*as[target](dst) = target{}
		return ddbjson.ContentEnd(d.doc, tag, at), nil
	}
	if dst.pointee().isNil() {
		if p.unexported {
			return 0, p.mismatch(tag, errUnexported)
		}
		*as[target](dst) = newTarget(p.elem.typ)
	}
	return d.decodeContent(p.elem, tag, at, dst.pointee())
}

// intoInterface decodes into an interface. If the interface holds a pointer, intoInterface decodes into the memory that
// the pointer points to. Otherwise it stores a new value in the interface.
func (d *imageDecoder) intoInterface(p *typePlan, tag ddbjson.Tag, at int, dst target) (next int, err error) {
	if old := dst.value(p.typ).Elem(); pointsToValue(old) {
		return d.decodeContent(planOf(old.Type().Elem(), p.options), tag, at, targetOf(old))
	}
	if p.typ.NumMethod() > 0 {
		return 0, p.mismatch(tag, nil)
	}
	out := as[any](dst)
	if p.asString && tag == ddbjson.TagS {
		v, next := d.itemValue(tag, at)
		f, err := parseFloat(textOf(v.Raw()))
		if err != nil {
			return 0, p.mismatch(tag, err)
		}
		*out = f
		return next, nil
	}
	*out, next = d.decodeAny(tag, at)
	return next, nil
}

// pointsToValue reports whether v is a pointer to a value that is neither a pointer nor an interface. A pointer to one
// of these could lead back to the interface that holds v. It returns false if v is nil.
func pointsToValue(v reflect.Value) bool {
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return false
	}
	kind := v.Elem().Kind()
	return kind != reflect.Interface && kind != reflect.Pointer
}

// list decodes an L or a set into a slice or an array. An array takes the first elements, up to its length.
func (d *imageDecoder) list(p *typePlan, tag ddbjson.Tag, at int, dst target) (next int, err error) {
	n, elements := d.count(tag, at), dst // elements is the memory of the first element
	switch p.form {
	case formArray:
		n = min(n, p.typ.Len())
	case formSlice:
		elements = resize(dst.value(p.typ), n)
	default:
		return 0, p.mismatch(tag, nil)
	}
	i := ddbjson.FirstInside(d.doc, at)
	for x := range n {
		elem := elements.element(x, p.elem.size)
		if tag == ddbjson.TagL {
			elemTag, elemAt := ddbjson.TagAt(d.doc, i)
			i, err = d.decodeValue(p.elem, elemTag, i, elemAt, elem)
		} else {
			i, err = d.decodeContent(p.elem, ddbjson.MemberTag(tag), i, elem)
		}
		if err != nil {
			return 0, prependPath(ddbjson.AppendElement(nil, x), err)
		}
		i = ddbjson.Next(d.doc, i)
	}
	if d.doc[i] != ']' { // the array is full
		return ddbjson.ContentEnd(d.doc, tag, at), nil
	}
	return i + 1, nil
}

// resize changes the length of a slice to n, and returns the memory of the first element. If the capacity of the slice
// is at least n, the slice keeps its elements.
func resize(s reflect.Value, n int) target {
	switch {
	case s.IsNil() && n == 0:
		s.Set(reflect.MakeSlice(s.Type(), 0, 0))
	case s.Cap() < n:
		s.SetZero()
		s.Grow(n)
	}
	s.SetLen(n)
	return targetOf(s)
}

// count returns the number of members or elements of a content. at is the position of the content.
func (d *imageDecoder) count(tag ddbjson.Tag, at int) (n int) {
	b := d.doc
	i := ddbjson.FirstInside(b, at)
	for b[i] != ']' && b[i] != '}' {
		switch tag {
		case ddbjson.TagM:
			_, _, i = ddbjson.MemberName(b, i)
			i = ddbjson.ValueEnd(b, i)
		case ddbjson.TagL:
			i = ddbjson.ValueEnd(b, i)
		default:
			i = ddbjson.StringEnd(b, i+1) + 1
		}
		i = ddbjson.Next(b, i)
		n++
	}
	return n
}

// members decodes an M into a struct or a map.
func (d *imageDecoder) members(p *typePlan, at int, dst target) (next int, err error) {
	switch p.form {
	case formStruct, formTime, formUnexportedStruct:
	case formMapOfAny:
		m := as[map[string]any](dst)
		*m, next = d.anyMembers(*m, at)
		return next, nil
	case formMap:
		return d.mapMembers(p, at, dst)
	default:
		return 0, p.mismatch(ddbjson.TagM, nil)
	}
	i := ddbjson.FirstInside(d.doc, at)
	for d.doc[i] == '"' {
		from, to, start, tag, at := ddbjson.MemberAt(d.doc, i)
		f := p.fields.find(d.doc[from:to])
		if f == nil {
			i = ddbjson.Next(d.doc, ddbjson.ValueEnd(d.doc, start))
			continue
		}
		field, err := f.fieldOf(dst)
		if err == nil {
			i, err = d.decodeValue(f.plan, tag, start, at, field)
		} else {
			err = f.plan.mismatch(tag, err)
		}
		if err != nil {
			return 0, prependPath(ddbjson.AppendMember(nil, textOf(d.doc[from:to])), err)
		}
		i = ddbjson.Next(d.doc, i)
	}
	return i + 1, nil
}

func (d *imageDecoder) mapMembers(p *typePlan, at int, dst target) (next int, err error) {
	isKeyForm := formString <= p.key.form && p.key.form <= formBool
	if !p.textKeys && !isKeyForm {
		return 0, p.mismatch(ddbjson.TagM, errs.Errorf(
			"keys of type %v: want a string, number, bool or encoding.TextUnmarshaler", p.key.typ))
	}
	m := dst.value(p.typ)
	if m.IsNil() {
		m.Set(reflect.MakeMapWithSize(p.typ, d.count(ddbjson.TagM, at)))
	}
	key, elem := newTarget(p.key.typ), newTarget(p.elem.typ)
	i := ddbjson.FirstInside(d.doc, at)
	for d.doc[i] == '"' {
		from, to, start, tag, at := ddbjson.MemberAt(d.doc, i)
		if err := d.mapKey(p, d.doc[from:to], key); err != nil {
			return 0, p.mismatch(ddbjson.TagM, fmt.Errorf("a name as a key of type %v: %w", p.key.typ, err))
		}
		if i, err = d.decodeValue(p.elem, tag, start, at, elem); err != nil {
			return 0, prependPath(ddbjson.AppendMember(nil, textOf(d.doc[from:to])), err)
		}
		i = ddbjson.Next(d.doc, i)
		m.SetMapIndex(key.value(p.key.typ), elem.value(p.elem.typ))
		// A method such as UnmarshalText may have kept a pointer to the key or the element. So the next key and the
		// next element need new memory.
		if p.textKeys || p.elem.hasUnmarshaler {
			key, elem = newTarget(p.key.typ), newTarget(p.elem.typ)
		} else {
			elem.value(p.elem.typ).SetZero()
		}
	}
	return i + 1, nil
}

// textOf returns the text of a JSON string. raw has no quotes. The text can share the memory of the image.
func textOf(raw []byte) string { return ddbjson.View(ddbjson.TextOf(raw)) }
