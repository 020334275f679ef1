package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readTarget = `SELECT id FROM "_tws_targets" t WHERE ` + isTarget

	addTarget = `INSERT INTO "_tws_targets" (pipeline, name, view, birth) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

// Target returns the id of t in the tables of the state. If t has no id yet, Target stores a new one; with
// Options.LookOnly it returns 0, which no row has. It must be called outside a transaction.
func (w *Writer) Target(t state.Target) (int64, error) {
	if id, ok := w.targets[t]; ok {
		return id, nil
	}
	var id int64
	found, err := w.QueryRow(readTarget, targetArgs(t), &id)
	if err == nil && !found && w.db.lookOnly {
		return 0, nil
	}
	if err == nil && !found {
		id, err = w.insertTarget(t)
	}
	if err != nil {
		return 0, err
	}
	w.targets[t] = id
	return id, nil
}

// insertTarget stores a target, and returns its id. Another process may insert the target first.
func (w *Writer) insertTarget(t state.Target) (id int64, err error) {
	err = w.Transact(func() error {
		if err := w.Exec(addTarget, targetArgs(t)...); err != nil {
			return err
		}
		_, err := w.QueryRow(readTarget, targetArgs(t), &id)
		return err
	})
	return id, err
}

// WithTarget calls do with the writing connection and the id of t. Until do returns, this process writes nothing else.
// Each statement of do sees one state of the file.
func (db *DB) WithTarget(ctx context.Context, t state.Target, do func(w *Writer, id int64) error) error {
	return db.Write(ctx, func(w *Writer) error {
		id, err := w.Target(t)
		if err != nil {
			return err
		}
		return do(w, id)
	})
}

// Remembers reports whether the file has a guard, a contribution or a tombstone of a target.
func (w *Writer) Remembers(target int64) (yes bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM "_tws_guards" WHERE target = ?1) OR EXISTS (SELECT 1 FROM "_tws_contributions" WHERE target = ?1)
	OR EXISTS (SELECT 1 FROM "_tws_tombstones" WHERE target = ?1)`
	_, err = w.QueryRow(query, []any{target}, &yes)
	return yes, err
}

// RemembersRows reports whether the file has a guard with a row, or a contribution with shares, of a target.
func (db *DB) RemembersRows(ctx context.Context, t state.Target) (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM "_tws_targets" AS t WHERE ` + isTarget + ` AND (
	EXISTS (SELECT 1 FROM "_tws_guards" AS g WHERE g.target = t.id AND g.written IS NULL) OR
	EXISTS (SELECT 1 FROM "_tws_contributions" AS c WHERE c.target = t.id AND c.written IS NULL)))`
	yes, _, err := ReadFirst(ctx, db, query, targetArgs(t), ScanColumn[bool])
	return yes, err
}

// Output implements the methods of [state.Output] that are the same for all outputs in a file.
type Output struct {
	*DB
	state.OutputRef
}

// Identity returns "". The output is in the same file as the state, so the identity of the state is enough.
func (Output) Identity(context.Context) (string, error) { return "", nil }

// Forget does nothing, because the file has no records of a deleted output.
func (Output) Forget(context.Context) error { return nil }

// Count runs a query, and adds up the counts in the rows of its result. Each row of the result has a birth (the random
// id of an output), the number of rows with that birth, and the number of tombstones among them.
func (o Output) Count(ctx context.Context, query string, args ...any) (state.Inspection, error) {
	inspection := state.Inspection{Complete: true}
	for counted, err := range Read(ctx, o.DB, query, args, scanBirthCount) {
		if err != nil {
			return inspection, err
		}
		inspection.Add(counted.birth, counted.rows)
		inspection.Tombstones += counted.tombstones
	}
	return inspection, nil
}

// birthCount is the number of rows with a birth, and the number of tombstones among them.
type birthCount struct {
	birth            string
	rows, tombstones int
}

func scanBirthCount(rows *sql.Rows) (c birthCount, err error) {
	err = rows.Scan(&c.birth, &c.rows, &c.tombstones)
	return c, err
}
