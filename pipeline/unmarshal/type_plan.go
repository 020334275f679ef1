package unmarshal

import (
	"encoding"
	"reflect"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// typePlan describes how attributes are decoded into one Go type.
type typePlan struct {
	options
	typ  reflect.Type
	kind reflect.Kind
	size uintptr
	form form

	elem           *typePlan // element type of a pointer, slice, array or map
	key            *typePlan // key type of a map
	textKeys       bool      // the keys of the map implement encoding.TextUnmarshaler
	fields         *fieldSet // fields of a struct
	hasUnmarshaler bool      // the type contains an Unmarshaler, which may keep a pointer into a value

	once    sync.Once
	scratch sync.Pool // pointers to zero values of the type
}

// options are the properties of a field that change how its type is decoded.
type options struct {
	asString   bool // an S is decoded as a number
	unexported bool // the field is embedded and not exported, so only the fields inside are decoded
}

// form is the way in which a type is decoded.
type form uint8

const (
	formNone form = iota // accepts only NULL
	formString
	formInt
	formUint
	formFloat
	formBool
	formDecimal // decimal.Decimal
	formTime    // converts to time.Time
	formStruct
	formMap
	formMapOfAny // map[string]any
	formSlice
	formArray
	formInterface

	formPointer        // this form and the next ones handle NULL in their own way
	formValue          // item.Value
	formUnmarshaler    // implements Unmarshaler
	formSDKUnmarshaler // implements only attributevalue.Unmarshaler
	formUnexportedStruct
)

// These three caches have each typePlan by its type. Each cache has at most one entry for each type of the program, so
// it needs no limit.
var plans, stringPlans, unexportedPlans sync.Map

// planOf returns the plan of a type. It does not build the plan, because a type may contain itself. The first use of
// the plan builds it.
func planOf(t reflect.Type, o options) *typePlan {
	cache := &plans
	switch {
	case o.unexported:
		cache = &unexportedPlans
	case o.asString:
		cache = &stringPlans
	}
	if p, ok := cache.Load(t); ok {
		return p.(*typePlan)
	}
	p, _ := cache.LoadOrStore(t, &typePlan{typ: t, options: o, kind: t.Kind(), size: t.Size()})
	return p.(*typePlan)
}

func (p *typePlan) build() {
	p.form = p.findForm()
	p.hasUnmarshaler = p.form == formUnmarshaler
	switch p.kind {
	case reflect.Pointer:
		p.elem = planOf(p.typ.Elem(), p.options)
	case reflect.Slice:
		p.elem = planOf(p.typ.Elem(), options{})
	case reflect.Array:
		p.elem = planOf(p.typ.Elem(), options{})
		p.elem.once.Do(p.elem.build)
		p.hasUnmarshaler = p.hasUnmarshaler || p.elem.hasUnmarshaler
	case reflect.Map:
		p.elem = planOf(p.typ.Elem(), options{})
		key := p.typ.Key() // the kind of the key decides how a name is decoded, even if the key is an Unmarshaler
		p.key = &typePlan{typ: key, kind: key.Kind(), form: formOfKind(key.Kind())}
		text := reflect.TypeFor[encoding.TextUnmarshaler]()
		p.textKeys = reflect.PointerTo(p.typ.Key()).Implements(text) || p.typ.Key().Implements(text)
	case reflect.Struct:
		p.fields = fieldsOf(p.typ)
		for _, f := range p.fields.fields {
			f.plan.once.Do(f.plan.build)
			p.hasUnmarshaler = p.hasUnmarshaler || f.plan.hasUnmarshaler
		}
	default: // a scalar
	}
}

// findForm returns the form of the plan's type. Special types come before kinds.
func (p *typePlan) findForm() form {
	t := p.typ
	switch t {
	case reflect.TypeFor[decimal.Decimal]():
		return formDecimal
	case reflect.TypeFor[item.Value]():
		return formValue
	case reflect.TypeFor[map[string]any]():
		return formMapOfAny
	}
	// As in attributevalue, a named type that is not a pointer has its own methods and the methods of its pointer.
	hasMethods := t.Name() != "" && p.kind != reflect.Pointer && p.kind != reflect.Interface
	if hasMethods {
		pointer := reflect.PointerTo(t)
		if pointer.Implements(reflect.TypeFor[Unmarshaler]()) && !p.unexported {
			return formUnmarshaler
		}
		if _, ok := pointer.MethodByName("UnmarshalDynamoDBAttributeValue"); ok {
			return formSDKUnmarshaler
		}
	}
	switch {
	case p.kind == reflect.Struct && p.unexported:
		return formUnexportedStruct
	case p.kind == reflect.Struct && t.ConvertibleTo(reflect.TypeFor[time.Time]()):
		return formTime
	default:
		return formOfKind(p.kind)
	}
}

func formOfKind(kind reflect.Kind) form {
	switch kind {
	case reflect.String:
		return formString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return formInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return formUint
	case reflect.Float32, reflect.Float64:
		return formFloat
	case reflect.Bool:
		return formBool
	case reflect.Struct:
		return formStruct
	case reflect.Map:
		return formMap
	case reflect.Slice:
		return formSlice
	case reflect.Array:
		return formArray
	case reflect.Interface:
		return formInterface
	case reflect.Pointer:
		return formPointer
	default:
		return formNone
	}
}
