package unmarshal

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// ErrNoImage is the error of decoding an image that does not exist, such as the new image of a REMOVE.
var ErrNoImage = errs.New("there is no image to decode")

// Decode decodes m into a T. T is a struct, whose `dynamodbav` tags name the attributes, or a map. Decode returns the
// same results as attributevalue.UnmarshalMap of the AWS SDK with default options. A name matches the field with
// exactly this name, or else a field whose name differs only in case. An N becomes a float64 in an `any`. A time is an
// S in RFC 3339 or an N of Unix seconds.
//
// Unlike attributevalue, Decode decodes an N exactly into a [decimal.Decimal], and any attribute unchanged into an
// [item.Value]. A type can implement [Unmarshaler]. Strings and bytes are copied, so the result does not keep the page
// of m in memory.
//
// If the image does not exist, Decode returns [ErrNoImage]. Any other error is a *DecodeError. Both errors are
// permanent.
func Decode[T any](m item.Image) (T, error) {
	p := planOf(reflect.TypeFor[T](), options{})
	p.once.Do(p.build)
	if p.hasUnmarshaler || !m.Exists() {
		out := new(T)
		err := DecodeInto(m, out)
		return *out, err
	}
	// Decode returns a copy of the T, so it can reuse the memory of the original.
	scratch, _ := p.scratch.Get().(*T)
	if scratch == nil {
		scratch = new(T)
	}
	err := decodeImage(m, p, targetOf(reflect.ValueOf(scratch)))
	out := *scratch
	*scratch = *new(T)
	p.scratch.Put(scratch) // after a panic, the memory is not reused
	return out, err
}

// DecodeInto decodes m into the struct or map that out points to. Fields without an attribute in m do not change. After
// an error, *out may be partly filled.
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

// Unmarshaler is implemented by types that decode themselves, usually with a pointer receiver. v may be NULL. v is a
// range of a page: Clone it to keep it.
//
// Unmarshaler replaces attributevalue.Unmarshaler, whose argument is a type of the SDK. Decoding into a type that
// implements only attributevalue.Unmarshaler is an error.
type Unmarshaler interface {
	UnmarshalDynamoDB(v item.Value) error
}

// DecodeError is the error of an attribute that does not fit its Go type. Its text never shows the attribute's value.
type DecodeError struct {
	Path string       // path of the attribute, such as Address.Lines[0]; "" for the item itself
	Kind item.Kind    // kind of the attribute
	Type reflect.Type // Go type that the attribute does not fit
	Err  error        // reason; nil if a value of this kind never fits the type
}

var _ redact.Redacted = (*DecodeError)(nil)

// Error names the path, the kind, the type and the reason.
func (e *DecodeError) Error() string {
	text := e.text(e.Path)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Redacted is Error without the reason and with a shorter path. The reason may come from an Unmarshaler and show data.
// The path ends at the attribute, because names inside an attribute may be data.
func (e *DecodeError) Redacted() string {
	root := e.Path
	if p, err := item.ParsePath(root); err == nil {
		root = string(ddbjson.AppendMember(nil, p.Root()))
	}
	return e.text(root)
}

// Describe returns the class, and the attribute of the item.
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

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// prependPath puts a segment in front of the path of err. The caller passes the error of decoding the value at this
// segment.
func prependPath(segment []byte, err error) error {
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
