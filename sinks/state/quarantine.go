package state

import (
	"context"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Mark says that a key of a sink is quarantined: changes of it lie in dead
// letters, and those that come are put behind them.
type Mark struct {
	Sink    string
	Key     item.Key
	Letters int64     // how often a letter was put behind the key: changes with each one
	Since   time.Time // when the first one was
}

// Quarantine is the marks of one pipeline. It is what the pipeline reads and
// writes ([pipeline.Quarantine]), and what a redrive works through.
type Quarantine interface {
	pipeline.Quarantine

	// Marks yields the marks of a sink, of all sinks where it is "", in the order
	// of sink and key. A pulled error ends the sequence.
	Marks(ctx context.Context, sink string) iter.Seq2[Mark, error]

	// Clear takes a mark away on condition that nothing was put behind the key
	// since it was read; false where something was, and the mark stays.
	Clear(ctx context.Context, m Mark) (bool, error)
}
