package dynamo

import "github.com/tablewake/tablewake/pipeline"

// Damaged is the error of an item of the state table that can't be read, also of those
// that other stores keep there. what holds no values.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(&Error{Op: "read", Table: db.table, Action: -1, Detail: what + " can't be read", Hint: "it was changed by hand or by another program, or its table was emptied or exchanged: `tablewake adopt` shows what belongs together, and the way on", Err: err})
}
