package deadletter

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
)

// Releaser is a store that hides the letters it has read from other readers, as a
// queue does. Release makes them visible again. A reader calls it when it has finished; it may
// read again later.
type Releaser interface {
	Release(ctx context.Context) error
}

// Store is a store of dead letters that can be read and removed. It is safe for concurrent
// use, also while a pipeline puts letters.
type Store interface {
	pipeline.DeadLetters

	// Read yields all letters in the order in which they were put. Letters that
	// are put or removed meanwhile may be included or not. A yielded error ends the
	// sequence.
	Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error]

	// Remove removes the letters with these IDs (see ID), and blocks until that is
	// durable. Missing letters are not an error, so a failed Remove can be repeated
	// as a whole. A removed letter can be put again.
	Remove(ctx context.Context, ids []string) error
}
