package archive

import (
	"context"
	"io"
	"iter"
	"time"
)

// ErrExists means that an object of this name exists already.
var ErrExists = errs.New("archive: the object exists")

// ErrNoObject means that there is no object of this name.
var ErrNoObject = errs.New("archive: no such object")

// Object is an object to write.
type Object struct {
	Name        string
	Body        []byte // the store may read it until Put returns
	ContentType string // media type: "application/zstd"
	Tags        []Tag  // at most 10, in S3's alphabet; a store without tags ignores them
	Identity    string // of a PerItem object: digest of its item and version, see [Identifier]; "" for others
}

// Tag is a label of an object.
type Tag struct{ Key, Value string }

// Store stores immutable objects. Its methods are called concurrently.
//
// Put writes an object that does not exist yet, and blocks until it is durable.
// If the name exists, Put changes nothing and returns ErrExists, like S3 with
// If-None-Match: *. This also holds for two concurrent writers. An error marked by
// pipeline.Transient is retried.
//
// Get opens an object. It returns ErrNoObject, or a [*FrozenError] if the object must
// be restored first.
type Store interface {
	Put(ctx context.Context, o Object) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
}

// Identifier is a store that returns Object.Identity, also of objects that cannot be
// read at once, as in GLACIER. It returns "" if the object was put without one.
type Identifier interface {
	Identity(ctx context.Context, name string) (string, error)
}

// Info is an object in a listing.
type Info struct {
	Name     string
	Size     int64     // bytes, compressed
	Modified time.Time // time of the write
	Class    string    // storage class in S3's words; "" if the store has none
}

// Lister is a store that can list its objects.
type Lister interface {
	Store

	// List yields the objects whose names start with prefix, sorted by the
	// bytes of their names. A yielded error ends the sequence.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}
