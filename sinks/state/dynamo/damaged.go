package dynamo

import "github.com/tablewake/tablewake/pipeline"

// damaged is the error of an item of the state table that can't be read.
func (db *DB) damaged(what string, err error) error {
	return pipeline.Fatal(&Error{Op: "read", Table: db.table, Action: -1, Detail: what + " can't be read", Hint: "it was changed by hand or by another program: use another state table and replay", Err: err})
}

// Damaged is damaged, for stores that keep items of their own in the state table. what
// holds no values.
func (db *DB) Damaged(what string, err error) error { return db.damaged(what, err) }
