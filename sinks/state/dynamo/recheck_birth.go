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

// recheckInterval is the minimum time between two checks whether a table was replaced by another one.
const recheckInterval = 30 * time.Second

// acceptedIdentities has the births (the recorded identities of outputs) and the identities of tables that the process
// found when it began. They must not change while the process writes.
type acceptedIdentities struct {
	births     sync.Map // Target -> Ref of the stored birth
	identities sync.Map // name of a table -> its identity
	checked    sync.Map // Target -> time.Time of the last check
}

// noteBirth keeps the birth of an output in a table, for CheckState.
func (s *State) noteBirth(b state.Birth) {
	if table, ok := strings.CutPrefix(b.Target, "table "); ok {
		s.db.accepted.births.Store(state.Target{Pipeline: s.pipeline, Table: table, View: b.Sink, Birth: b.ID}, s.birthRef(b))
	}
}

// CheckState returns an error if the state lost the birth of t since this process read that birth. A lost state knows
// no items, so an item that it does not know may be old. CheckState returns nil if the process did not read the birth.
func (db *DB) CheckState(ctx context.Context, t state.Target) error {
	ref, ok := db.accepted.births.Load(t)
	if !ok {
		return nil
	}

	stored, err := db.getOne(ctx, ref.(Ref))
	if err != nil {
		return err
	}
	if stored != nil && Text(stored, attrBirth) == t.Birth {
		return nil
	}
	return state.NewLostError(t.View, fmt.Sprintf(
		"the state table %s knew the birth '%s' of table %s when this process began, and does not know it now: "+
			"the state was deleted or exchanged meanwhile", db.table, t.Birth, t.Table))
}

// CheckTables returns an error if the state lost the birth of t, or if the table of rows was exchanged since this
// process began. rows is the DB for the table of rows. For each t, CheckTables checks at most once in 30 seconds.
func (db *DB) CheckTables(ctx context.Context, t state.Target, rows *DB) error {
	now := db.now()
	lastCheck, wasChecked := db.accepted.checked.Load(t)
	if !wasChecked {
		db.accepted.checked.Store(t, now) // the process began just now
		return nil
	}
	if now.Sub(lastCheck.(time.Time)) < recheckInterval {
		return nil
	}

	if err := db.CheckState(ctx, t); err != nil {
		return err
	}
	if err := rows.checkIdentity(ctx, t); err != nil {
		return err
	}
	db.accepted.checked.Store(t, now)
	return nil
}

// checkIdentity returns an error if the table of t was exchanged since this process read its identity.
func (db *DB) checkIdentity(ctx context.Context, t state.Target) error {
	was, ok := db.accepted.identities.Load(t.Table)
	if !ok {
		return nil
	}
	id, err := db.readIdentity(ctx, t.Table)
	if err != nil && !errors.Is(err, ErrNoTable) {
		return err
	}
	if id == was {
		return nil
	}
	return state.NewLostError(t.View, fmt.Sprintf(
		"table %s was %s when this process began, and is %s now: it was deleted or exchanged meanwhile",
		t.Table, was, cmp.Or(id, "missing")))
}
