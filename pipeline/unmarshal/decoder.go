package unmarshal

import (
	"encoding"
	"reflect"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// typeDecoder decodes values into one Go type. It knows beforehand
// what reflection would otherwise find out for each value.
type typeDecoder struct {
	typ      reflect.Type
	kind     reflect.Kind
	form     form
	direct   direct
	asString bool // an S holds a number

	elem   *typeDecoder // of a pointer, slice, array or map
	key    keyDecoder   // of a map; nil where its keys can't be decoded
	apart  bool         // of a map: its members are decoded by methods of the program's
	fields *fieldSet    // of a struct

	inScratch bool      // of a struct: see fillsScratch
	scratch   sync.Pool // of pointers to such structs, all zero

	once sync.Once
}

// form is what a type is, apart from its kind.
type form uint8

const (
	ordinary      form = iota
	selfDecoding       // implements Unmarshaler
	sdkDecoding        // implements attributevalue.Unmarshaler only
	decimalForm        // Decimal
	valueForm          // Value
	timeForm           // converts to time.Time
	anyForm            // interface{}
	mapOfAnyForm       // map[string]any
	plainByteForm      // []byte
)

// decoders caches a typeDecoder per reflect.Type; numberDecoders those of fields
// whose S holds a number. They only ever grow by the program's own types.
var decoders, numberDecoders sync.Map

// decoderOf is the decoder of t. It is built at its first use, so that types may
// contain themselves.
func decoderOf(t reflect.Type, asString bool) *typeDecoder {
	cache := &decoders
	if asString {
		cache = &numberDecoders
	}
	if d, ok := cache.Load(t); ok {
		return d.(*typeDecoder)
	}
	d, _ := cache.LoadOrStore(t, &typeDecoder{typ: t, kind: t.Kind(), asString: asString})
	return d.(*typeDecoder)
}

func (d *typeDecoder) build() {
	d.form = formOf(d.typ)
	d.direct = d.directOf()
	switch d.kind {
	case reflect.Pointer:
		d.elem = decoderOf(d.typ.Elem(), d.asString)
	case reflect.Slice, reflect.Array:
		d.elem = decoderOf(d.typ.Elem(), false)
	case reflect.Map:
		d.elem = decoderOf(d.typ.Elem(), false)
		d.key = keyDecoderOf(d.typ.Key())
		d.apart = isTextKey(d.typ.Key()) || decodesItself(d.typ.Elem())
	case reflect.Struct:
		d.fields = fieldsOf(d.typ)
		d.inScratch = d.direct == directStruct && !decodesItself(d.typ)
	default: // nothing lies within
	}
}

func formOf(t reflect.Type) form {
	switch t {
	case reflect.TypeFor[decimal.Decimal]():
		return decimalForm
	case reflect.TypeFor[item.Value]():
		return valueForm
	case reflect.TypeFor[map[string]any]():
		return mapOfAnyForm
	case reflect.TypeFor[[]byte]():
		return plainByteForm
	}
	if t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		return anyForm
	}
	// As attributevalue does it: a named type that is no pointer, by its own
	// methods or its pointer's.
	if t.Name() != "" && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		p := reflect.PointerTo(t)
		if p.Implements(reflect.TypeFor[Unmarshaler]()) {
			return selfDecoding
		}
		if _, ok := p.MethodByName("UnmarshalDynamoDBAttributeValue"); ok {
			return sdkDecoding
		}
	}
	if t.ConvertibleTo(reflect.TypeFor[time.Time]()) {
		return timeForm
	}
	return ordinary
}

// decode decodes v into dst, which is of d's type.
func (d *typeDecoder) decode(v item.Value, dst reflect.Value) error {
	d.once.Do(d.build)
	null := v.Kind() == item.KindNULL
	if d.kind == reflect.Pointer {
		switch {
		case null && dst.CanSet():
			dst.SetZero()
			return nil
		case dst.IsNil() && !dst.CanSet():
			return d.mismatch(v, errs.New("it is embedded and not exported"))
		case dst.IsNil():
			dst.Set(reflect.New(d.typ.Elem()))
		}
		return d.elem.decode(v, dst.Elem())
	}
	switch d.form {
	case selfDecoding:
		if dst.CanAddr() && dst.Addr().CanInterface() {
			if err := dst.Addr().Interface().(Unmarshaler).UnmarshalDynamoDB(v); err != nil {
				return d.mismatch(v, err)
			}
			return nil
		}
	case sdkDecoding:
		return d.mismatch(v, errs.New("it implements attributevalue.Unmarshaler, whose argument is a type of the SDK; "+
			"implement unmarshal.Unmarshaler, or convert the image by sdkvalue and decode that by attributevalue"))
	case valueForm:
		if dst.CanSet() {
			dst.Set(reflect.ValueOf(v.Clone()))
			return nil
		}
	default: // the value's kind decides
	}
	switch {
	case null && dst.CanSet():
		dst.SetZero()
		return nil
	case null:
		return nil
	case !dst.CanSet() && (d.kind != reflect.Struct || v.Kind() != item.KindM):
		return d.mismatch(v, errs.New("it is embedded and not exported"))
	case d.kind == reflect.Interface:
		return d.intoInterface(v, dst)
	}
	switch v.Kind() {
	case item.KindS:
		return d.text(v, dst)
	case item.KindN:
		return d.number(v, numberText(v), dst)
	case item.KindB:
		return d.binary(v, dst)
	case item.KindBOOL:
		return d.boolean(v, dst)
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		return d.list(v, dst)
	case item.KindM:
		return d.members(v, dst)
	default:
		return d.mismatch(v, nil)
	}
}

// mismatch is the error of a v that does not fit d's type.
func (d *typeDecoder) mismatch(v item.Value, err error) error {
	return &DecodeError{Kind: v.Kind(), Type: d.typ, Err: err}
}

// intoInterface decodes into what the interface points to, or else puts a new
// value into it.
func (d *typeDecoder) intoInterface(v item.Value, dst reflect.Value) error {
	if !dst.IsNil() {
		// A pointer to a pointer or an interface may lead back here: it is replaced.
		if p := dst.Elem(); p.Kind() == reflect.Pointer && !p.IsNil() && p.Elem().Kind() != reflect.Interface && p.Elem().Kind() != reflect.Pointer {
			return decoderOf(p.Type().Elem(), d.asString).decode(v, p.Elem())
		}
	}
	if d.form != anyForm {
		return d.mismatch(v, nil)
	}
	if d.asString && v.Kind() == item.KindS {
		s, _ := v.Text()
		f, err := parseFloat(s)
		if err != nil {
			return d.mismatch(v, err)
		}
		dst.Set(reflect.ValueOf(f))
		return nil
	}
	dst.Set(reflect.ValueOf(toAny(v)))
	return nil
}

// keyDecoder decodes the name of a map's member into a key.
type keyDecoder func(name string, key reflect.Value) error

// isTextKey tells whether keys of that type are decoded by its own method.
func isTextKey(t reflect.Type) bool {
	text := reflect.TypeFor[encoding.TextUnmarshaler]()
	return reflect.PointerTo(t).Implements(text) || t.Implements(text)
}

// keyDecoderOf is the decoder of a map's keys: nil for types that can't be keys.
func keyDecoderOf(t reflect.Type) keyDecoder {
	if isTextKey(t) {
		return textKey
	}
	d := decoderOf(t, false)
	switch t.Kind() {
	case reflect.Bool:
		return boolKey
	case reflect.String:
		return stringKey
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return func(name string, key reflect.Value) error { return d.parseNumber(name, key) }
	default:
		return nil
	}
}
