package dynamo

import (
	"cmp"
	"maps"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// field is an attribute of a note, and the variable for the value. A note is an item of the state table with simple
// values, such as a birth, a gap or a mark. The variable is a text, an integer, a bool or a time.
type field struct {
	name    string
	pointer any // pointer to the variable
	when    storedWhen
}

// storedWhen selects when a note has an attribute: always, or unless the value is zero.
type storedWhen bool

const (
	always     storedWhen = false
	unlessZero storedWhen = true
)

// value returns the value of the attribute, or nil if the note does not have the attribute.
func (f field) value() types.AttributeValue {
	v := reflect.ValueOf(f.pointer).Elem()
	t, isTime := v.Interface().(time.Time)
	switch {
	case f.when == unlessZero && (v.IsZero() || isTime && t.IsZero()):
		return nil
	case isTime:
		return nanoseconds(t)
	case v.Kind() == reflect.Bool:
		return Bool(v.Bool())
	case v.CanInt():
		return N(strconv.FormatInt(v.Int(), 10))
	default:
		return S(v.String())
	}
}

// parse sets the variable from the attribute. A missing attribute sets the zero value, but a missing number is an
// error.
func (f field) parse(item Item) (err error) {
	v := reflect.ValueOf(f.pointer).Elem()
	t, isTime := f.pointer.(*time.Time)
	switch {
	case isTime:
		*t, err = timeAt(item, f.name)
	case v.Kind() == reflect.Bool:
		v.SetBool(isTrue(item, f.name))
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(Digits(item, f.name), 10, 64)
		v.SetInt(n)
	default:
		v.SetString(Text(item, f.name))
	}
	return err
}

// withFields returns an item with the attributes of key and with fields.
func withFields(key Item, fields []field) Item {
	item := maps.Clone(key)
	for _, f := range fields {
		if v := f.value(); v != nil {
			item[f.name] = v
		}
	}
	return item
}

// parseFields sets the variables of all fields from a note, and returns the first error.
func parseFields(item Item, fields []field) (err error) {
	for _, f := range fields {
		err = cmp.Or(err, f.parse(item))
	}
	return err
}

// damagedIf returns the error of an item that could not be parsed, or nil if err is nil. what describes the item for
// messages, without its values.
func (db *DB) damagedIf(err error, what string) error {
	if err == nil {
		return nil
	}
	return db.Damaged(what, err)
}
