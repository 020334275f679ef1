package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/sinks/state"
)

// Output is what all outputs in a file have in common, for those who implement [state.Output].
type Output struct {
	*DB
	state.OutputRef
}

// Identity is "": an output is in one file with what is remembered of it, whose identity is that
// of the state.
func (Output) Identity(context.Context) (string, error) { return "", nil }

// Forget does nothing: the file holds nothing of deleted rows and documents.
func (Output) Forget(context.Context) error { return nil }

// Count adds up the rows of a query: a birth, how many bear it, and how many of those are tombstones.
func (o Output) Count(ctx context.Context, query string, args ...any) (state.Inspection, error) {
	l := state.Inspection{Complete: true}
	add := func(rows *sql.Rows) (_ struct{}, err error) {
		var birth string
		var n, tombstones int
		if err = rows.Scan(&birth, &n, &tombstones); err == nil {
			l.Add(birth, n)
			l.Tombstones += tombstones
		}
		return struct{}{}, err
	}
	for _, err := range Read(ctx, o.DB, query, args, add) {
		if err != nil {
			return l, err
		}
	}
	return l, nil
}
