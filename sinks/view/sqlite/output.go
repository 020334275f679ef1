package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
)

// Output is what a sink has in a view table.
func (s *Store) Output(p state.Place) state.Output { return output{s, p} }

type output struct {
	store *Store
	state.Place
}

// Identity is "": the table is in one file with what is remembered of it, whose identity is that of
// the state.
func (output) Identity(context.Context) (string, error) { return "", nil }

// Look counts rows and tombstones of the sink.
func (o output) Look(ctx context.Context, _ bool) (state.Look, error) {
	l := state.Look{Whole: true}
	var known int
	err := o.store.Reader().QueryRowContext(ctx, `SELECT 1 FROM "_tw_tables" WHERE name = ?`, o.Name).Scan(&known)
	if errors.Is(err, sql.ErrNoRows) {
		return l, nil
	}
	if err != nil {
		return l, o.store.Failed("read", err)
	}
	rows, err := o.store.Reader().QueryContext(ctx, "SELECT birth, count(*), count(*) - count(item) FROM "+quote(prefix+o.Name)+" WHERE view = ? AND pipeline = ? GROUP BY birth", o.Sink, o.Pipeline)
	if err != nil {
		return l, o.store.Failed("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		var birth string
		var n, tombstones int
		if err := rows.Scan(&birth, &n, &tombstones); err != nil {
			return l, o.store.Failed("read", err)
		}
		l.Add(birth, n)
		l.Tombstones += tombstones
	}
	return l, o.store.Failed("read", rows.Err())
}

// Emptied asks whether the state remembers a row or a group of the sink where the table has none.
func (o output) Emptied(ctx context.Context, birth string) (emptied bool, err error) {
	if l, err := o.Look(ctx, true); err != nil || l.Total() > 0 {
		return false, err
	}
	const q = `SELECT EXISTS (SELECT 1 FROM "_tws_targets" AS t WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND (
	EXISTS (SELECT 1 FROM "_tws_guards" AS g WHERE g.target = t.id AND g.written IS NULL) OR
	EXISTS (SELECT 1 FROM "_tws_contributions" AS c WHERE c.target = t.id AND c.written IS NULL)))`
	err = o.store.Reader().QueryRowContext(ctx, q, o.Pipeline, o.Name, o.Sink, birth).Scan(&emptied)
	return emptied, o.store.Failed("read", err)
}

// Renew does nothing: the file remembers nothing of rows that are gone.
func (output) Renew(context.Context) error { return nil }
