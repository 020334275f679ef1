package dynamo

import "github.com/tablewake/tablewake/pipeline"

// Damaged is the error of an item of the state table that can't be read, also of those
// that other stores keep there. what holds no values.
func (db *DB) Damaged(what string, err error) error {
	return pipeline.Fatal(&Error{Op: "read", Table: db.table, Action: -1, Detail: what + " can't be read", Hint: "it was changed by hand or by another program: use another state table and replay", Err: err})
}
