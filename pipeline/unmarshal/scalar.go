package unmarshal

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

var (
	errOverflow       = errs.New("the number is out of its range")
	errInteger        = errs.New("the number is no integer of its range")
	errTime           = errs.New("the text is no RFC 3339 time")
	errUnix           = errs.New("the number is no count of seconds")
	errBool           = errs.New("the text is neither true nor false")
	errNotNumber      = errs.New("not a number")
	errSDKUnmarshaler = errs.New("it implements attributevalue.Unmarshaler, whose argument is a type of the SDK; " +
		"implement unmarshal.Unmarshaler, or convert the image by sdkvalue and decode that by attributevalue")
	errUnexported = errs.New("it is embedded and not exported")
)

// scalar decodes an S, N or B. raw is its content without quotes.
func (d *imageDecoder) scalar(p *typePlan, tag ddbjson.Tag, raw []byte, dst target) (err error) {
	number := tag == ddbjson.TagN || tag == ddbjson.TagS && p.asString
	switch {
	case p.form == formString && tag == ddbjson.TagN:
		*as[string](dst) = d.texts.copy(raw)
	case number && (p.form == formInt || p.form == formUint || p.form == formFloat):
		err = p.number(textOf(raw), dst)
	case number && p.form == formDecimal:
		*as[decimal.Decimal](dst), err = decimal.Parse(textOf(raw))
	case number && p.form == formTime:
		var seconds int64
		if seconds, err = strconv.ParseInt(textOf(raw), 10, 64); err != nil {
			return p.mismatch(tag, errUnix)
		}
		*as[time.Time](dst) = time.Unix(seconds, 0)
	case tag == ddbjson.TagS && p.form == formTime:
		t, err := time.Parse(time.RFC3339, textOf(raw))
		if err != nil {
			return p.mismatch(tag, errTime)
		}
		*as[time.Time](dst) = t
	case tag == ddbjson.TagB && p.form == formSlice && p.elem.kind == reflect.Uint8:
		*as[[]byte](dst) = bytesOf(raw)
	case tag == ddbjson.TagB && p.form == formArray && p.elem.kind == reflect.Uint8:
		copy(dst.bytes(p.typ.Len()), bytesOf(raw)) // up to the length of the array
	default:
		return p.mismatch(tag, nil)
	}
	if err != nil {
		return p.mismatch(tag, err)
	}
	return nil
}

// number decodes the text of a number into an integer or a float.
func (p *typePlan) number(n string, dst target) error {
	switch p.form {
	case formInt:
		i, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return errInteger
		}
		if unused := 64 - 8*p.size; i<<unused>>unused != i {
			return errOverflow
		}
		dst.setInteger(p.size, uint64(i))
	case formUint:
		u, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return errInteger
		}
		if unused := 64 - 8*p.size; u<<unused>>unused != u {
			return errOverflow
		}
		dst.setInteger(p.size, u)
	default:
		f, err := parseFloat(n)
		switch {
		case err != nil:
			return err
		case p.kind == reflect.Float64:
			*as[float64](dst) = f
		case math.Abs(f) > math.MaxFloat32:
			return errOverflow
		default:
			*as[float32](dst) = float32(f)
		}
	}
	return nil
}

// parseFloat returns the float64 that is nearest to a number. The error does not show the text.
func parseFloat(n string) (float64, error) {
	if f, ok := shortFloat(n); ok {
		return f, nil
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, errOverflow
		}
		return 0, errNotNumber
	}
	return f, nil
}

// shortFloat does the same as parseFloat for texts of up to 15 bytes without a sign or an exponent. Most numbers are of
// this form. shortFloat returns false for any other text. It divides the digits by a power of ten. Both are exact as
// float64, so their quotient is the nearest float64.
func shortFloat(n string) (f float64, ok bool) {
	digits, fraction, point := 0, 0, len(n)
	for i := range len(n) {
		switch c := n[i]; {
		case c-'0' <= 9:
			digits = digits*10 + int(c-'0')
		case c == '.' && point == len(n):
			point = i
		default:
			return 0, false
		}
	}
	if len(n) == 0 || len(n) > 15 {
		return 0, false
	}
	if fraction = len(n) - 1 - point; fraction > 0 {
		return float64(digits) / math.Pow10(fraction), true
	}
	return float64(digits), point == len(n)
}

// bytesOf returns the bytes of a B, in new memory.
func bytesOf(raw []byte) []byte {
	b, _ := item.RawValue(item.KindB, raw).Bytes()
	return b
}

// mapKey decodes the name of a member into the key of a Go map.
func (d *imageDecoder) mapKey(p *typePlan, raw []byte, key target) error {
	switch {
	case p.textKeys:
		return textKey(textOf(raw), key.value(p.key.typ))
	case p.key.form == formString:
		*as[string](key) = d.texts.copy(raw)
	case p.key.form == formBool:
		b, err := strconv.ParseBool(textOf(raw))
		if err != nil {
			return errBool
		}
		*as[bool](key) = b
	default:
		return p.key.number(textOf(raw), key)
	}
	return nil
}

// textKey decodes a key with its method UnmarshalText. If the key is a pointer, textKey allocates the memory that it
// points to.
func textKey(name string, key reflect.Value) error {
	for key.Kind() == reflect.Pointer {
		key.Set(reflect.New(key.Type().Elem()))
		key = key.Elem()
	}
	u, ok := key.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		return errs.New("it is no encoding.TextUnmarshaler")
	}
	return u.UnmarshalText([]byte(name))
}
