package sqlite

import "github.com/tablewake/tablewake/sinks/state"

// State is the state of one pipeline in the file, except the guards and contributions of its views.
type State struct {
	db       *DB
	pipeline string
}

var _ state.Store = (*State)(nil)

// State returns the state of a pipeline. It may be used until db is closed.
func (db *DB) State(pipeline string) *State { return &State{db: db, pipeline: pipeline} }
