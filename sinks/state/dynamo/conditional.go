package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// unchanged returns the condition that a stored item has the fields as they are: equal, or missing.
func unchanged(fields []field) Condition {
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

// putFirst writes an item if there is none. It returns nil if it wrote, and the stored item if another
// process was first.
func (db *DB) putFirst(ctx context.Context, ref Ref, now Item) (Item, error) {
	for {
		err := db.Write(ctx, Put(db.table, now, Condition{Text: "attribute_not_exists(pk)", Old: true}))
		unmet, ok := errors.AsType[*ConditionError](err)
		switch {
		case !ok:
			return nil, err
		case unmet.Unmet[0].Item != nil:
			return unmet.Unmet[0].Item, nil
		}
		// A server may leave the item out of its answer.
		item, err := db.getOne(ctx, ref)
		if err != nil || item != nil {
			return item, err
		}
	}
}

// isStored reports whether an item is now, after the condition of its write failed: it may have failed on the write itself,
// if the first answer was lost. The zero value is a missing item.
func isStored[T comparable](ctx context.Context, db *DB, ref Ref, now T, parse func(Item) (T, error)) (bool, error) {
	var stored T
	item, err := db.getOne(ctx, ref)
	if err == nil && item != nil {
		stored, err = parse(item)
	}
	return err == nil && stored == now, err
}
