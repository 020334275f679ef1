package unmarshal

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

var (
	errOverflow  = errs.New("the number is out of its range")
	errInteger   = errs.New("the number is no integer of its range")
	errTime      = errs.New("the text is no RFC 3339 time")
	errUnix      = errs.New("the number is no count of seconds")
	errBool      = errs.New("the text is neither true nor false")
	errNotNumber = errs.New("not a number")
	errNoNumber  = errs.New("no number can go there")
)

// text decodes an S.
func (d *typeDecoder) text(v item.Value, dst reflect.Value) error {
	s, _ := v.Text()
	if d.asString {
		return d.number(v, s, dst)
	}
	switch {
	case d.form == timeForm:
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return d.mismatch(v, errTime)
		}
		dst.Set(reflect.ValueOf(t).Convert(d.typ))
	case d.kind == reflect.String:
		dst.SetString(strings.Clone(s))
	default:
		return d.mismatch(v, nil)
	}
	return nil
}

// number decodes n, the text of an N, or of an S that is tagged as a number.
func (d *typeDecoder) number(v item.Value, n string, dst reflect.Value) error {
	err := d.parseNumber(n, dst)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoNumber):
		return d.mismatch(v, nil)
	default:
		return d.mismatch(v, err)
	}
}

func (d *typeDecoder) parseNumber(n string, dst reflect.Value) error {
	switch d.kind {
	case reflect.String:
		dst.SetString(strings.Clone(n))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return errInteger
		}
		if dst.OverflowInt(i) {
			return errOverflow
		}
		dst.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return errInteger
		}
		if dst.OverflowUint(u) {
			return errOverflow
		}
		dst.SetUint(u)
	case reflect.Float32, reflect.Float64:
		f, err := parseFloat(n)
		if err != nil {
			return err
		}
		if dst.OverflowFloat(f) {
			return errOverflow
		}
		dst.SetFloat(f)
	default:
		return d.parseStruct(n, dst)
	}
	return nil
}

// parseStruct decodes the text of a number into the structs that take one.
func (d *typeDecoder) parseStruct(n string, dst reflect.Value) error {
	switch d.form {
	case decimalForm:
		number, err := decimal.Parse(n)
		if err != nil {
			return err
		}
		*dst.Addr().Interface().(*decimal.Decimal) = number
	case timeForm:
		seconds, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return errUnix
		}
		dst.Set(reflect.ValueOf(time.Unix(seconds, 0)).Convert(d.typ))
	default:
		return errNoNumber
	}
	return nil
}

// parseFloat keeps the text out of the error.
func parseFloat(n string) (float64, error) {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, errOverflow
		}
		return 0, errNotNumber
	}
	return f, nil
}

// boolean decodes a BOOL.
func (d *typeDecoder) boolean(v item.Value, dst reflect.Value) error {
	if d.kind != reflect.Bool {
		return d.mismatch(v, nil)
	}
	b, _ := v.Bool()
	dst.SetBool(b)
	return nil
}

// binary decodes a B. An array takes as many bytes as it has room for.
func (d *typeDecoder) binary(v item.Value, dst reflect.Value) error {
	if d.kind != reflect.Slice && d.kind != reflect.Array || d.elem.kind != reflect.Uint8 {
		return d.mismatch(v, nil)
	}
	b, _ := v.Bytes() // memory of its own
	if d.kind == reflect.Array {
		for i := range min(len(b), dst.Len()) {
			dst.Index(i).SetUint(uint64(b[i]))
		}
		return nil
	}
	if d.form == plainByteForm {
		dst.SetBytes(b)
		return nil
	}
	s := reflect.MakeSlice(d.typ, len(b), len(b))
	for i := range b {
		s.Index(i).SetUint(uint64(b[i]))
	}
	dst.Set(s)
	return nil
}

// textKey decodes a key by its own method, through any pointers.
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

func stringKey(name string, key reflect.Value) error {
	key.SetString(strings.Clone(name))
	return nil
}

func boolKey(name string, key reflect.Value) error {
	b, err := strconv.ParseBool(name)
	if err != nil {
		return errBool
	}
	key.SetBool(b)
	return nil
}

// numberText is the text of an N as it came. It is a range of the page.
func numberText(v item.Value) string { return ddbjson.View(ddbjson.TextOf(v.Raw())) }
