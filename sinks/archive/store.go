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
	Identity    string // digest of item and version for a PerItem object of one change; "" for others

	// Item and Version are those of an object with the newest version of its item, in ASCII; "" for others. Item is the
	// item's key, or its beginning and a digest.
	Item, Version string
}

// Tag is a label of an object.
type Tag struct{ Key, Value string }

// Store stores objects. Its methods are called concurrently.
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

// Stored describes a stored object.
type Stored struct {
	Identity, Item, Version string // as in Object; "" if the object was written without them
	Content                 []byte // content of the object, if the store keeps none of these
	Tag                     string // differs after each write of the object
}

// Describer is a store that describes an object, even one that cannot be read at once, as in GLACIER. Describe returns
// ErrNoObject if there is none. A described object is durable.
type Describer interface {
	Describe(ctx context.Context, name string) (Stored, error)
}

// Replacer is a store that replaces objects.
//
// Replace writes o in place of the object that Describe described, and blocks until it is durable. If the object was
// written or removed since, Replace changes nothing and returns ErrExists or ErrNoObject. This also holds for two
// concurrent writers. An error marked by pipeline.Transient is retried.
type Replacer interface {
	Describer
	Replace(ctx context.Context, o Object, stored Stored) error
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
