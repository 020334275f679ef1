package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/sinks/state"
)

// Output implements the methods of [state.Output] that are the same for all outputs in a file.
type Output struct {
	*DB
	state.OutputRef
}

// Identity returns "". The output is in the same file as the state, so the identity of the state is enough.
func (Output) Identity(context.Context) (string, error) { return "", nil }

// Forget does nothing, because the file has no records of a deleted output.
func (Output) Forget(context.Context) error { return nil }

// Count returns the sum of the rows of a query. Each row has a birth (the random id of an output), the number of rows
// with that birth, and the number of tombstones among them.
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
