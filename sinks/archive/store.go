package archive

import (
	"context"
	"io"
	"iter"
	"time"
)

// ErrExists means that an object of the name is already there.
var ErrExists = errs.New("archive: the object exists")

// ErrNoObject means that there is no object of the name asked for.
var ErrNoObject = errs.New("archive: no such object")

// Object is one object to be written.
type Object struct {
	Name        string
	Body        []byte // the store's to read until Put returns
	ContentType string // a media type: "application/zstd"
	Tags        []Tag  // at most 10, in S3's alphabet; a store without tags leaves them out
	Of          string // of a PerItem object: a digest of its item and version, which an [Identifier] tells; "" of others
}

// Tag is one label of an object.
type Tag struct{ Key, Value string }

// Store holds immutable objects.
//
// Put writes an object that is not there yet and blocks until it is durable;
// where the name is taken it changes nothing and answers ErrExists (as S3 does to
// If-None-Match: *), also when two writers race. An error marked by
// pipeline.Transient is retried.
//
// Get opens an object, or answers ErrNoObject, or a [*FrozenError] where it has to
// be restored first. Both are called concurrently.
type Store interface {
	Put(ctx context.Context, o Object) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
}

// Identifier is a store that tells what an object is of, also where the object cannot
// be read at once, as in GLACIER. It answers "" where that was not put with it.
type Identifier interface {
	Of(ctx context.Context, name string) (string, error)
}

// Info is what a listing tells of an object.
type Info struct {
	Name     string
	Size     int64     // bytes, compressed
	Modified time.Time // when it was written
	Class    string    // storage class, as S3 names them; "" where the store has none
}

// Lister is a store that tells what it holds.
type Lister interface {
	Store

	// List yields the objects whose names start with prefix, in the order of the
	// bytes of their names. A pulled error ends the sequence.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}
