package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// Output returns the output of a sink in a view table.
func (s *Store) Output(p state.OutputRef) state.Output {
	return output{sqlite.Output{DB: s.DB, OutputRef: p}}
}

type output struct{ sqlite.Output }

// Inspect counts the rows and tombstones of the sink.
func (o output) Inspect(ctx context.Context, _ bool) (state.Inspection, error) {
	if _, found, err := findTable(ctx, o.DB, o.Name); err != nil || !found {
		return state.Inspection{Complete: true}, err
	}
	return o.Count(ctx, "SELECT birth, count(*), count(*) - count(item) FROM "+quote(tablePrefix+o.Name)+
		" WHERE view = ? AND pipeline = ? GROUP BY birth", o.Sink, o.Pipeline)
}

// Emptied reports whether the state remembers a row or a group of the sink, but the table has no row of the sink.
func (o output) Emptied(ctx context.Context, birth string) (emptied bool, err error) {
	_, hasTable, err := findTable(ctx, o.DB, o.Name)
	if err != nil {
		return false, err
	}
	if hasTable {
		first, err := o.Count(ctx, "SELECT birth, 1, item IS NULL FROM "+quote(tablePrefix+o.Name)+
			" WHERE view = ? AND pipeline = ? LIMIT 1", o.Sink, o.Pipeline)
		if err != nil || first.Total() > 0 {
			return false, err
		}
	}
	return o.RemembersRows(ctx, state.Target{Pipeline: o.Pipeline, Table: o.Name, View: o.Sink, Birth: birth})
}
