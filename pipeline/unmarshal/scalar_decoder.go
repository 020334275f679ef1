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
	errInteger        = errs.New("the number is not an integer of its range")
	errTime           = errs.New("the text is not an RFC 3339 time")
	errUnix           = errs.New("the number is not a count of seconds")
	errBool           = errs.New("the text is neither true nor false")
	errNotNumber      = errs.New("not a number")
	errSDKUnmarshaler = errs.New("it implements attributevalue.Unmarshaler, whose argument is a type of the SDK; " +
		"implement unmarshal.Unmarshaler, or convert the image by sdkvalue and decode that by attributevalue")
	errUnexported = errs.New("it is embedded and not exported")
)

// scalar decodes an S, N or B. raw is its content without quotes.
func (d *imageDecoder) scalar(p *typePlan, tag ddbjson.Tag, raw []byte, dst target) error {
	isNumber := tag == ddbjson.TagN || tag == ddbjson.TagS && p.asString
	isBytes := tag == ddbjson.TagB && p.elem != nil && p.elem.kind == reflect.Uint8
	var err error
	switch {
	case p.form == formString && tag == ddbjson.TagN:
		*as[string](dst) = d.texts.copy(raw)
	case isNumber && (p.form == formInt || p.form == formUint || p.form == formFloat):
		err = p.number(textOf(raw), dst)
	case isNumber && p.form == formDecimal:
		*as[decimal.Decimal](dst), err = decimal.Parse(textOf(raw))
	case isNumber && p.form == formTime:
		seconds, parseErr := strconv.ParseInt(textOf(raw), 10, 64)
		if parseErr != nil {
			return p.mismatch(tag, errUnix)
		}
		*as[time.Time](dst) = time.Unix(seconds, 0)
	case tag == ddbjson.TagS && p.form == formTime:
		t, parseErr := time.Parse(time.RFC3339, textOf(raw))
		if parseErr != nil {
			return p.mismatch(tag, errTime)
		}
		*as[time.Time](dst) = t
	case isBytes && p.form == formSlice:
		*as[[]byte](dst) = bytesOf(raw)
	case isBytes && p.form == formArray:
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
func (p *typePlan) number(text string, dst target) error {
	v := dst.value(p.typ)
	switch p.form {
	case formInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errInteger
		}
		if v.OverflowInt(n) {
			return errOverflow
		}
		v.SetInt(n)
	case formUint:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errInteger
		}
		if v.OverflowUint(n) {
			return errOverflow
		}
		v.SetUint(n)
	default:
		f, err := parseFloat(text)
		if err != nil {
			return err
		}
		if p.kind == reflect.Float32 && math.Abs(f) > math.MaxFloat32 { // OverflowFloat would allow infinities
			return errOverflow
		}
		v.SetFloat(f)
	}
	return nil
}

// parseFloat returns the float64 that is nearest to a number. The error does not show the text.
func parseFloat(text string) (float64, error) {
	if f, ok := shortFloat(text); ok {
		return f, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errOverflow
	}
	if err != nil {
		return 0, errNotNumber
	}
	return f, nil
}

// shortFloat does the same as parseFloat for texts of up to 15 bytes without a sign or an exponent. Most numbers are of
// this form. shortFloat returns false for any other text. It divides the digits by a power of ten. Both are exact as
// float64, so their quotient is the nearest float64.
func shortFloat(text string) (f float64, ok bool) {
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	digits, point := 0, -1
	for i := range len(text) {
		switch c := text[i]; {
		case c-'0' <= 9:
			digits = digits*10 + int(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	if point < 0 {
		return float64(digits), true
	}
	fraction := len(text) - 1 - point
	return float64(digits) / math.Pow10(fraction), fraction > 0
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
		return errs.New("it is not an encoding.TextUnmarshaler")
	}
	return u.UnmarshalText([]byte(name))
}
