package archive

import (
	"context"
	"errors"
	"io"
	"iter"
)

// ErrExists means that an object of the name is already there.
var ErrExists = errors.New("archive: the object exists")

// ErrNoObject means that there is no object of the name asked for.
var ErrNoObject = errors.New("archive: no such object")

// Store holds immutable objects.
//
// Put writes an object that is not there yet and blocks until it is durable;
// where the name is taken it changes nothing and answers ErrExists (as S3 does to
// If-None-Match: *), also when two writers race. An error marked by
// pipeline.Transient is retried. body is the store's to read until Put returns.
//
// Get opens an object, or answers ErrNoObject. Both are called concurrently.
type Store interface {
	Put(ctx context.Context, name string, body []byte) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
}

// Lister is a store that tells what it holds.
type Lister interface {
	Store

	// Names yields the names of the objects that start with prefix, in the order
	// of their bytes. A pulled error ends the sequence.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
}
