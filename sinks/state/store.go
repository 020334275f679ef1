package state

import (
	"context"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Store is the state of one pipeline without guards and contributions. Guards and contributions change in one
// transaction with rows, so a store of rows writes them.
type Store interface {
	Quarantine
	Gaps
	Births
	Backfills
	HeldBackNotes
}

// Target identifies the output that guards, contributions and tombstones belong to. It is the output of one sink in one
// table, with one birth.
type Target struct {
	Pipeline, Table, View, Birth string
}

// Mark records that a key is quarantined at a sink: some of its changes are in dead letters, and its later changes are
// dead-lettered too.
type Mark struct {
	Sink    string
	Key     item.Key
	Letters int64     // number of dead letters of the key. It grows with each dead letter
	Since   time.Time // time of the first dead letter
}

// Quarantine keeps the marks of one pipeline. The pipeline reads and writes them
// ([pipeline.Quarantine]), and a redrive clears them.
type Quarantine interface {
	pipeline.Quarantine

	// Marks yields the marks of a sink, or of all sinks if sink is "", in the order of sink and key. An error ends the
	// sequence.
	Marks(ctx context.Context, sink string) iter.Seq2[Mark, error]

	// Clear removes a mark if no dead letter of its key was added since the mark was read. Otherwise the mark stays,
	// and Clear returns false.
	Clear(ctx context.Context, m Mark) (bool, error)
}

// Purger deletes state that is only there to refuse late changes.
type Purger interface {
	// Purge deletes tombstones that are stored apart from rows, guards without a row, and contributions without shares.
	// It deletes only what was written before a time and has not changed since, and returns how many it deleted. It
	// never deletes a guard with a row or a contribution with shares.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// IsPermanent reports whether the error of a write is permanent. A permanent error is not nil, not transient and not
// fatal.
func IsPermanent(err error) bool {
	_, retryable := pipeline.Retryable(err)
	return err != nil && !retryable && !pipeline.IsFatal(err)
}
