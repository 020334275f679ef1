package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

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

// putIfMissing writes the item now if no item is stored at ref. It returns nil if it wrote. If an item is stored
// already, it returns that item.
func (db *DB) putIfMissing(ctx context.Context, ref Ref, now Item) (Item, error) {
	for {
		err := db.Write(ctx, Put(db.table, now, Condition{Text: "attribute_not_exists(pk)", Old: true}))
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

// isStored reports whether the stored item equals now. It is called after the condition of a write of now was not met.
// That also happens if the write succeeded but its answer was lost: the repeated write then finds the item that the
// first one wrote. If now is the zero T, isStored reports whether the item is missing.
func isStored[T comparable](ctx context.Context, db *DB, ref Ref, now T, parse func(Item) (T, error)) (bool, error) {
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
	return stored == now, nil
}
