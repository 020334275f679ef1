package unmarshal

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// ErrNoImage is the error of decoding an image that does not exist, as the new
// image of a REMOVE.
var ErrNoImage = errs.New("there is no image to decode")

// Decode is m as a T, a struct or a map, by its `dynamodbav` tags, with the results
// of the AWS SDK's attributevalue.UnmarshalMap at its defaults: names match
// exactly, else without regard to case; an N becomes a float64 in an `any`; S
// and N become times by RFC 3339 and Unix seconds.
//
// Beyond attributevalue, a [decimal.Decimal] takes an N exactly, a [item.Value] takes any
// attribute as it is, and a type may implement [Unmarshaler]. Strings and bytes
// are copied, so the result does not keep m's page alive.
//
// An image that does not exist is [ErrNoImage]; any other failure is a
// *DecodeError. Both are permanent.
func Decode[T any](m item.Image) (T, error) {
	p := planOf(reflect.TypeFor[T](), options{})
	if p.once.Do(p.build); p.selfInside || !m.Exists() {
		out := new(T)
		err := DecodeInto(m, out)
		return *out, err
	}
	// The T is returned by value, so the memory that it is decoded into can be used again.
	scratch, _ := p.scratch.Get().(*T)
	if scratch == nil {
		scratch = new(T)
	}
	err := decodeImage(m, p, targetOf(reflect.ValueOf(scratch)))
	out := *scratch
	*scratch = *new(T)
	p.scratch.Put(scratch) // not after a panic
	return out, err
}

// DecodeInto decodes m into the struct or map that out points to. What m does
// not mention stays as it is. After an error *out may be filled in part.
func DecodeInto(m item.Image, out any) error {
	p := reflect.ValueOf(out)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return &DecodeError{Kind: item.KindM, Type: reflect.TypeOf(out),
			Err: errors.New("the target must be a pointer that is not nil")}
	}
	if !m.Exists() {
		return ErrNoImage
	}
	return decodeImage(m, planOf(p.Type().Elem(), options{}), targetOf(p))
}

// Unmarshaler is implemented by types that decode themselves, usually on the
// pointer. v may be NULL; it is a range of a page: Clone it to keep it.
//
// It takes the place of attributevalue.Unmarshaler, whose argument is a type of
// the SDK: decoding into a type that implements only that one is an error.
type Unmarshaler interface {
	UnmarshalDynamoDB(v item.Value) error
}

// DecodeError is an attribute that does not fit its Go type. Its text never
// shows the attribute's value.
type DecodeError struct {
	Path string       // of the attribute: Address.Lines[0]; "" for the item itself
	Kind item.Kind    // of the attribute
	Type reflect.Type // that it does not fit
	Err  error        // why, where the kind as such would do; else nil
}

var _ redact.Redacted = (*DecodeError)(nil)

// Error says where, what and why.
func (e *DecodeError) Error() string {
	text := e.text(e.Path)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Redacted leaves out the cause, which may be an Unmarshaler's, and the path
// below the item's attribute, where names may be data.
func (e *DecodeError) Redacted() string {
	root := e.Path
	if p, err := item.ParsePath(root); err == nil {
		root = string(ddbjson.AppendMember(nil, p.Root()))
	}
	return e.text(root)
}

// Describe is its class, and the item's attribute.
func (e *DecodeError) Describe() (class, field string) {
	if p, err := item.ParsePath(e.Path); err == nil {
		field = p.Root()
	}
	return "decode", field
}

func (e *DecodeError) text(path string) string {
	if path == "" {
		return fmt.Sprintf("item: %v does not decode into %v", e.Kind, e.Type)
	}
	return fmt.Sprintf("attribute %s: %v does not decode into %v", path, e.Kind, e.Type)
}

// Unwrap is the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// within puts a segment in front of the path of err, which came from decoding
// what is there.
func within(segment []byte, err error) error {
	e, ok := errors.AsType[*DecodeError](err)
	if !ok {
		return err
	}
	if e.Path != "" && e.Path[0] != '[' {
		segment = append(segment, '.')
	}
	e.Path = string(segment) + e.Path
	return e
}
