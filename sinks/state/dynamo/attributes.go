package dynamo

import (
	"strconv"
	"time"
)

// attributes reads the attributes of a stored item. A missing one is the zero value; of a number that is an error.
type attributes struct {
	item Item
	err  error // the first
}

func (a *attributes) text(name string) string { return Text(a.item, name) }

func (a *attributes) flag(name string) bool { return isTrue(a.item, name) }

func (a *attributes) number(name string) int64 {
	n, err := strconv.ParseInt(Digits(a.item, name), 10, 64)
	a.note(err)
	return n
}

func (a *attributes) time(name string) time.Time {
	t, err := timeAt(a.item, name)
	a.note(err)
	return t
}

func (a *attributes) note(err error) {
	if a.err == nil {
		a.err = err
	}
}

// damaged returns the error of the item, nil if there is none. what describes the item without values.
func (a *attributes) damaged(db *DB, what string) error {
	if a.err == nil {
		return nil
	}
	return db.Damaged(what, a.err)
}

// setText adds an attribute, unless the text is empty.
func setText(item Item, name, text string) {
	if text != "" {
		item[name] = S(text)
	}
}

// setTime adds an attribute, unless the time is zero.
func setTime(item Item, name string, t time.Time) {
	if !t.IsZero() {
		item[name] = nanoseconds(t)
	}
}
