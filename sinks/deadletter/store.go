package deadletter

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
)

// Releaser is implemented by stores that keep what they read from other readers, as a
// queue does. Release gives it back; who reads through calls it when it is done, and may
// read again after it.
type Releaser interface {
	Release(ctx context.Context) error
}

// Store is dead letters that can be worked through. All of it may be called by
// several goroutines, also while a pipeline puts letters.
type Store interface {
	pipeline.DeadLetters

	// Read yields the letters that are there, in the order in which they came. What
	// is put or removed meanwhile may be among them or not. A pulled error ends the
	// sequence.
	Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error]

	// Remove takes away the letters with these IDs (see ID) and blocks until that is
	// durable. One that is not there is no error, so a Remove that failed is tried
	// again as a whole. What is put again later is there again.
	Remove(ctx context.Context, ids []string) error
}
