package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readBackfills = `SELECT run, sinks, source, begun, "from", parts FROM "_tws_backfills" WHERE pipeline = ?`

	allBackfills = readBackfills + ` ORDER BY begun, run`

	oneBackfill = readBackfills + ` AND run = ?`

	addBackfill = `INSERT INTO "_tws_backfills" (pipeline, run, sinks, source, begun, "from", parts) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	dropBackfill = `DELETE FROM "_tws_backfills" WHERE pipeline = ? AND run = ?`

	dropParts = `DELETE FROM "_tws_parts" WHERE pipeline = ? AND run = ?`

	partColumns = `owner, counter, position, items, done`

	allParts = `SELECT run, id, ` + partColumns + ` FROM "_tws_parts" WHERE pipeline = ? AND run = ? ORDER BY id`

	addPart = `INSERT INTO "_tws_parts" (` + partColumns +
		`, pipeline, run, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	setPart = `UPDATE "_tws_parts" SET (` + partColumns + `) = (?, ?, ?, ?, ?) WHERE (` + partColumns +
		`) = (?, ?, ?, ?, ?) AND pipeline = ? AND run = ? AND id = ?`
)

// Backfills yields the pipeline's backfills as of the start of the read.
func (s *State) Backfills(ctx context.Context) iter.Seq2[state.Backfill, error] {
	return Read(ctx, s.db, allBackfills, []any{s.pipeline}, backfill)
}

func backfill(rows *sql.Rows) (b state.Backfill, err error) {
	var begun, from sql.NullInt64
	err = rows.Scan(&b.Run, &b.Sinks, &b.Source, &begun, &from, &b.Parts)
	b.Start, b.From = timeOf(begun), timeOf(from)
	return b, err
}

// AddBackfill inserts a backfill if no backfill with the same run is stored.
func (s *State) AddBackfill(ctx context.Context, b state.Backfill) (state.Backfill, error) {
	if _, err := s.db.execCount(ctx, addBackfill, s.pipeline, b.Run, b.Sinks, b.Source, nanoseconds(b.Start),
		nanoseconds(b.From), b.Parts); err != nil {
		return b, err
	}
	stored, found, err := ReadFirst(ctx, s.db, oneBackfill, []any{s.pipeline, b.Run}, backfill)
	if err == nil && !found { // another process removed the backfill in the meantime
		return b, nil
	}
	return stored, err
}

// RemoveBackfill removes a backfill and its parts in one transaction.
func (s *State) RemoveBackfill(ctx context.Context, run string) error {
	return s.db.transact(ctx, func(w *Writer) error {
		if err := w.Exec(dropParts, s.pipeline, run); err != nil {
			return err
		}
		return w.Exec(dropBackfill, s.pipeline, run)
	})
}

// Parts yields the parts of a backfill as of the start of the read.
func (s *State) Parts(ctx context.Context, run string) iter.Seq2[state.Part, error] {
	return Read(ctx, s.db, allParts, []any{s.pipeline, run}, func(rows *sql.Rows) (p state.Part, err error) {
		err = rows.Scan(&p.Run, &p.ID, &p.Owner, &p.Counter, &p.Position, &p.Items, &p.Done)
		return p, err
	})
}

// SetPart replaces a part if the stored part equals expected.
func (s *State) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	if err := state.CheckSetPart(expected, next); err != nil {
		return false, err
	}
	key := []any{s.pipeline, next.Run, next.ID}
	query, args := addPart, slices.Concat(partValues(next), key)
	if expected != (state.Part{}) {
		query, args = setPart, slices.Concat(partValues(next), partValues(expected), key)
	}
	n, err := s.db.execCount(ctx, query, args...)
	return n > 0, err
}

// partValues returns the values of partColumns.
func partValues(p state.Part) []any {
	return []any{p.Owner, p.Counter, p.Position, p.Items, p.Done}
}
