package unmarshal

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// list decodes an L or a set into a slice or an array. An array takes as many
// elements as it has room for.
func (d *typeDecoder) list(v item.Value, dst reflect.Value) error {
	room := v.Len()
	switch d.kind {
	case reflect.Array:
		room = min(room, dst.Len())
	case reflect.Slice:
		if dst.IsNil() || dst.Cap() < room {
			dst.Set(reflect.MakeSlice(d.typ, room, room))
		} else {
			dst.SetLen(room)
		}
	default:
		return d.mismatch(v, nil)
	}
	for i, e := range v.Elements() {
		if i == room {
			break
		}
		if err := d.elem.decode(e, dst.Index(i)); err != nil {
			return within(ddbjson.AppendElement(nil, i), err)
		}
	}
	return nil
}

// members decodes an M into a struct or a map.
func (d *typeDecoder) members(v item.Value, dst reflect.Value) error {
	switch {
	case d.form == decimalForm:
		return d.mismatch(v, nil)
	case d.kind == reflect.Struct:
		return d.fill(v.Members(), dst)
	case d.form == mapOfAnyForm:
		m := dst.Interface().(map[string]any)
		if out, _ := membersToAny(m, v.Raw(), 0); m == nil {
			dst.Set(reflect.ValueOf(out))
		}
		return nil
	case d.kind == reflect.Map:
		return d.fillMap(v, dst)
	default:
		return d.mismatch(v, nil)
	}
}

// image decodes an item. Of an image, unlike of an M, the attributes are indexed.
func (d *typeDecoder) image(m item.Image, dst reflect.Value) error {
	d.once.Do(d.build)
	if d.direct == directStruct {
		return d.fillImage(m, dst.Addr().UnsafePointer())
	}
	return d.decode(m.Value(), dst)
}

func (d *typeDecoder) fill(members iter.Seq2[string, item.Value], dst reflect.Value) error {
	for name, e := range members {
		f, ok := d.fields.lookup(name)
		if !ok {
			continue
		}
		field, err := f.of(dst)
		if err == nil {
			err = f.decoder.decode(e, field)
		} else {
			err = f.decoder.mismatch(e, err)
		}
		if err != nil {
			return within(ddbjson.AppendMember(nil, name), err)
		}
	}
	return nil
}

func (d *typeDecoder) fillMap(v item.Value, dst reflect.Value) error {
	if d.key == nil {
		return d.mismatch(v, errs.Errorf("keys of type %v: want a string, number, bool or encoding.TextUnmarshaler", d.typ.Key()))
	}
	if dst.IsNil() {
		dst.Set(reflect.MakeMapWithSize(d.typ, v.Len()))
	}
	key, elem := reflect.New(d.typ.Key()).Elem(), reflect.New(d.typ.Elem()).Elem()
	for name, e := range v.Members() {
		if d.apart {
			key, elem = reflect.New(d.typ.Key()).Elem(), reflect.New(d.typ.Elem()).Elem()
		} else {
			key.SetZero()
			elem.SetZero()
		}
		if err := d.key(name, key); err != nil {
			return d.mismatch(v, fmt.Errorf("a name as a key of type %v: %w", d.typ.Key(), err))
		}
		if err := d.elem.decode(e, elem); err != nil {
			return within(ddbjson.AppendMember(nil, name), err)
		}
		dst.SetMapIndex(key, elem)
	}
	return nil
}

// of is the field within s; embedded pointers on the way are allocated.
func (f *structField) of(s reflect.Value) (reflect.Value, error) {
	for i, x := range f.index {
		if i > 0 && s.Kind() == reflect.Pointer {
			if s.IsNil() {
				if !s.CanSet() {
					return s, errs.New("it lies behind an embedded pointer to a type that is not exported")
				}
				s.Set(reflect.New(s.Type().Elem()))
			}
			s = s.Elem()
		}
		s = s.Field(x)
	}
	return s, nil
}
