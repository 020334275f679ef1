package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/sinks/state"
)

// Output implements the parts of [state.Output] that all outputs in a file share.
type Output struct {
	*DB
	state.OutputRef
}

// Identity returns "": the output is in the same file as the state, whose identity covers both.
func (Output) Identity(context.Context) (string, error) { return "", nil }

// Forget does nothing: the file keeps nothing of a deleted output.
func (Output) Forget(context.Context) error { return nil }

// Count sums the rows of a query. Each row is a birth, a number of rows with that birth, and how many of them are
// tombstones.
func (o Output) Count(ctx context.Context, query string, args ...any) (state.Inspection, error) {
	in := state.Inspection{Complete: true}
	add := func(rows *sql.Rows) (_ struct{}, err error) {
		var birth string
		var n, tombstones int
		if err = rows.Scan(&birth, &n, &tombstones); err == nil {
			in.Add(birth, n)
			in.Tombstones += tombstones
		}
		return struct{}{}, err
	}
	for _, err := range Read(ctx, o.DB, query, args, add) {
		if err != nil {
			return in, err
		}
	}
	return in, nil
}
