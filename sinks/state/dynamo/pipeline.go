package dynamo

import "github.com/tablewake/tablewake/sinks/state"

// State is what one pipeline remembers in the table, apart from what its views do.
type State struct {
	db       *DB
	pipeline string
}

var _ state.Store = (*State)(nil)

// State is the quarantine and the gaps of a pipeline.
func (db *DB) State(pipeline string) *State { return &State{db: db, pipeline: pipeline} }
