package dynamo

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Damaged returns the error of an item that cannot be read. It is an item of the state table, or of a table of rows if
// a store of rows calls Damaged. what describes the item without values.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(&Error{Op: "read", Table: db.table, Action: -1, Detail: what + " can't be read",
		Hint: "it was changed by hand or by another program, or its table was emptied or exchanged: `tablewake adopt` shows what belongs together, and the way on", Err: &state.DamagedError{Err: err}})
}
