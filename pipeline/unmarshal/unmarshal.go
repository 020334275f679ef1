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

// Decode decodes m into a T, which is a struct or a map, by its `dynamodbav` tags. It returns the same results as
// attributevalue.UnmarshalMap of the AWS SDK with default options. Names match exactly, else without regard to case. An
// N becomes a float64 in an `any`. For times, an S is RFC 3339 and an N is Unix seconds.
//
// Unlike attributevalue, it decodes an N exactly into a [decimal.Decimal], and any attribute unchanged into an
// [item.Value], and a type may implement [Unmarshaler]. Strings and bytes are copied, so the result does not keep the
// page of m in memory.
//
// For an image that does not exist it returns [ErrNoImage], for any other failure a *DecodeError. Both are permanent.
func Decode[T any](m item.Image) (T, error) {
	p := planOf(reflect.TypeFor[T](), options{})
	if p.once.Do(p.build); p.hasUnmarshaler || !m.Exists() {
		out := new(T)
		err := DecodeInto(m, out)
		return *out, err
	}
	// The T is returned by value, so the memory into which it was decoded can be reused.
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

// Unmarshaler is implemented by types that decode themselves, usually with a pointer receiver. v may be NULL. It is a
// range of a page: Clone it to keep it.
//
// It replaces attributevalue.Unmarshaler, whose argument is a type of the SDK. Decoding into a type that implements
// only attributevalue.Unmarshaler is an error.
type Unmarshaler interface {
	UnmarshalDynamoDB(v item.Value) error
}

// DecodeError is the error of an attribute that does not fit its Go type. Its text never shows the attribute's value.
type DecodeError struct {
	Path string       // path of the attribute, as Address.Lines[0]; "" for the item itself
	Kind item.Kind    // kind of the attribute
	Type reflect.Type // Go type that the attribute does not fit
	Err  error        // reason, if the kind fits the type; else nil
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

// Redacted leaves out the reason, because it may come from an Unmarshaler, and the path inside the attribute, because
// names there may be data.
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

// prependPath puts a segment in front of the path of err. err comes from decoding the value at the segment.
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
