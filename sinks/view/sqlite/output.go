package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// Output is what a sink has in a view table.
func (s *Store) Output(p state.OutputRef) state.Output {
	return output{sqlite.Output{DB: s.DB, OutputRef: p}}
}

type output struct{ sqlite.Output }

// Inspect counts rows and tombstones of the sink.
func (o output) Inspect(ctx context.Context, _ bool) (state.Inspection, error) {
	var known int
	err := o.Reader().QueryRowContext(ctx, `SELECT 1 FROM "_tw_tables" WHERE name = ?`, o.Name).Scan(&known)
	if errors.Is(err, sql.ErrNoRows) {
		return state.Inspection{Whole: true}, nil
	}
	if err != nil {
		return state.Inspection{}, o.Failed("read", err)
	}
	return o.Count(ctx, "SELECT birth, count(*), count(*) - count(item) FROM "+quote(prefix+o.Name)+" WHERE view = ? AND pipeline = ? GROUP BY birth", o.Sink, o.Pipeline)
}

// Emptied asks whether the state remembers a row or a group of the sink where the table has none.
func (o output) Emptied(ctx context.Context, birth string) (emptied bool, err error) {
	if l, err := o.Inspect(ctx, true); err != nil || l.Total() > 0 {
		return false, err
	}
	const q = `SELECT EXISTS (SELECT 1 FROM "_tws_targets" AS t WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND (
	EXISTS (SELECT 1 FROM "_tws_guards" AS g WHERE g.target = t.id AND g.written IS NULL) OR
	EXISTS (SELECT 1 FROM "_tws_contributions" AS c WHERE c.target = t.id AND c.written IS NULL)))`
	err = o.Reader().QueryRowContext(ctx, q, o.Pipeline, o.Name, o.Sink, birth).Scan(&emptied)
	return emptied, o.Failed("read", err)
}
