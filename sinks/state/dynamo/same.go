package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// recheck is how long a process writes before it asks again whether its tables are those that it began with.
const recheck = 30 * time.Second

// accepted is what a process began with, which must not be exchanged while it writes.
type accepted struct {
	births     sync.Map // Target -> Ref: of the birth in the state
	identities sync.Map // name of a table -> its identity
	checked    sync.Map // Target -> time.Time: when both were asked for
}

// begins notes the birth that the outputs of this process bear.
func (s *State) begins(b state.Birth) {
	if table, ok := strings.CutPrefix(b.Target, "table "); ok {
		s.db.accepted.births.Store(state.Target{Pipeline: s.pipeline, Table: table, View: b.Sink, Birth: b.ID}, s.birthRef(b))
	}
}

// CheckState is nil where the state has the birth that t bears. It has been lost while this process wrote
// where it has not: whatever it lacks then is not new. Nil, too, of a birth that this process did not begin with.
func (db *DB) CheckState(ctx context.Context, t state.Target) error {
	ref, ok := db.accepted.births.Load(t)
	if !ok {
		return nil
	}
	item, err := db.one(ctx, ref.(Ref))
	if err != nil || item != nil && Text(item, attrBirth) == t.Birth {
		return err
	}
	return state.NewLostError(t.View, fmt.Sprintf("the state table %s knew the birth '%s' of table %s when this process began, and does not know it now: "+
		"the state was deleted or exchanged meanwhile", db.table, t.Birth, t.Table))
}

// CheckTables is nil where the state has the birth that t bears, and the table of rows, which rows reaches, is the
// one that this process began with. It asks at most once in 30 seconds.
func (db *DB) CheckTables(ctx context.Context, t state.Target, rows *DB) error {
	now := db.now()
	at, asked := db.accepted.checked.Load(t)
	switch {
	case !asked:
		db.accepted.checked.Store(t, now) // it began just now
		return nil
	case now.Sub(at.(time.Time)) < recheck:
		return nil
	}
	if err := db.CheckState(ctx, t); err != nil {
		return err
	}
	if was, ok := rows.accepted.identities.Load(t.Table); ok {
		is, err := rows.identity(ctx, t.Table)
		if err != nil && !errors.Is(err, ErrNoTable) {
			return err
		}
		if is != was {
			return state.NewLostError(t.View, fmt.Sprintf("table %s was %s when this process began, and is %s now: it was deleted or exchanged meanwhile",
				t.Table, was, cmp.Or(is, "missing")))
		}
	}
	db.accepted.checked.Store(t, now)
	return nil
}
