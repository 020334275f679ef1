package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/state"
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

// keyFields is the number of fields at the start of birthFields and partFields that are the key of the note. They never
// change, so no condition compares them.
const keyFields = 2

// value returns the value of the attribute, or nil if the note does not have the attribute.
func (f field) value() types.AttributeValue {
	v := reflect.ValueOf(f.pointer).Elem()
	t, isTime := v.Interface().(time.Time)
	isZero := v.IsZero() || isTime && t.IsZero()
	switch {
	case isZero && f.when == unlessZero:
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
		b, isBool := item[f.name].(*types.AttributeValueMemberBOOL)
		v.SetBool(isBool && b.Value)
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

// fieldsUnchanged returns the condition that the attributes of a stored item equal fields. If a field has no value, the
// stored item must not have its attribute.
func fieldsUnchanged(fields []field) Condition {
	c := Condition{Names: make(map[string]string, len(fields)), Values: make(Item, len(fields))}
	terms := make([]string, len(fields))
	for i, f := range fields {
		n := strconv.Itoa(i)
		c.Names["#a"+n] = f.name
		if v := f.value(); v != nil {
			c.Values[":a"+n] = v
			terms[i] = "#a" + n + " = :a" + n
		} else {
			terms[i] = "attribute_not_exists(#a" + n + ")"
		}
	}
	c.Text = strings.Join(terms, " AND ")
	return c
}

// putIfMissing writes image, unless an item is stored at ref. It returns nil if it wrote image. Otherwise it returns
// the stored item.
func (db *DB) putIfMissing(ctx context.Context, ref Ref, image Item) (Item, error) {
	for {
		err := db.Write(ctx, Put(db.table, image, Condition{Text: "attribute_not_exists(pk)", ReturnStored: true}))
		failed, ok := errors.AsType[*ConditionError](err)
		if !ok {
			return nil, err
		}
		if stored := failed.Unmet[0].Item; stored != nil {
			return stored, nil
		}

		// A server may leave out the stored item in its answer.
		item, err := db.getOne(ctx, ref)
		if err != nil || item != nil {
			return item, err
		}
	}
}

// isStored reports whether the stored item equals next. It is called after a refused write of next: if the answer to
// the first request was lost, the repeated request finds the item that the first one wrote. If next is the zero T,
// isStored reports whether the item is missing.
func isStored[T comparable](ctx context.Context, db *DB, ref Ref, next T, parse func(Item) (T, error)) (bool, error) {
	item, err := db.getOne(ctx, ref)
	if err != nil {
		return false, err
	}
	var stored T
	if item != nil {
		if stored, err = parse(item); err != nil {
			return false, err
		}
	}
	return stored == next, nil
}

var _ state.Fingerprints = (*DB)(nil)

// Fingerprint returns the fingerprint of a sink's output. A fingerprint holds the settings that shaped the output.
// Fingerprint returns false if no fingerprint is stored.
func (db *DB) Fingerprint(ctx context.Context, pipe, sink string) (state.Fingerprint, bool, error) {
	item, err := db.getOne(ctx, db.noteRef(pipe, "fingerprints", sink))
	if err != nil || item == nil {
		return state.Fingerprint{}, false, err
	}
	f := state.Fingerprint{Pipeline: pipe, Sink: sink}
	err = cmp.Or(parseFields(item, fingerprintFields(&f)), json.Unmarshal([]byte(Text(item, "settings")), &f.Settings))
	if err := db.damagedIf(err, "a fingerprint of the sink "+sink); err != nil {
		return state.Fingerprint{}, false, err
	}
	return f, true, nil
}

func fingerprintFields(f *state.Fingerprint) []field {
	return []field{{attrBirth, &f.Birth, always}, {"generation", &f.Generation, always}}
}

// SetFingerprint replaces the fingerprint of a sink's output.
func (db *DB) SetFingerprint(ctx context.Context, f state.Fingerprint) error {
	settings, err := json.Marshal(f.Settings)
	if err != nil {
		return err
	}
	ref := db.noteRef(f.Pipeline, "fingerprints", f.Sink)
	item := withFields(ref.Key, fingerprintFields(&f))
	item["settings"] = S(string(settings))
	return db.Write(ctx, Put(ref.Table, item, Condition{}))
}

// SetHeldBack replaces the note of the consumer, or deletes it if h is empty. The table's TTL deletes the notes of
// consumers that ended.
func (s *State) SetHeldBack(ctx context.Context, h state.HeldBack) error {
	ref := s.db.noteRef(s.pipeline, "heldback", h.Consumer)
	if h.Empty() {
		return s.db.Write(ctx, Delete(ref, Condition{}))
	}
	worst, err := h.Body()
	if err != nil {
		return err
	}
	item := withFields(ref.Key, heldBackFields(&h))
	item["worst"], item[attrExpires] = S(worst), N(strconv.FormatInt(h.At.Add(state.HeldBackLifetime).Unix(), 10))
	return s.db.Write(ctx, Put(ref.Table, item, Condition{}))
}

// HeldBack returns the notes of all consumers, in the order of their ids, without expired notes.
func (s *State) HeldBack(ctx context.Context) ([]state.HeldBack, error) {
	var all []state.HeldBack
	for h, err := range readNotes(ctx, s, "heldback", s.heldBack) {
		if err != nil {
			return nil, err
		}
		if s.db.now().Before(h.At.Add(state.HeldBackLifetime)) {
			all = append(all, h)
		}
	}
	return all, nil
}

func heldBackFields(h *state.HeldBack) []field {
	return []field{{"consumer", &h.Consumer, always}, {"at", &h.At, always}, {"total", &h.Total, always}}
}

func (s *State) heldBack(item Item) (h state.HeldBack, err error) {
	err = cmp.Or(parseFields(item, heldBackFields(&h)), h.SetBody(Text(item, "worst")))
	return h, s.db.damagedIf(err, "what holds the consumer "+h.Consumer+" back")
}
