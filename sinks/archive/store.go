package archive

import (
	"context"
	"io"
	"iter"
	"time"
)

// ErrExists means that an object of this name already exists.
var ErrExists = errs.New("archive: the object exists")

// ErrNoObject means that no object of this name exists.
var ErrNoObject = errs.New("archive: no such object")

// ErrNoConditions means that the server of a store ignores the conditions of writes.
var ErrNoConditions = errs.New("does not take conditional writes")

// Object is an object to write.
type Object struct {
	Name        string
	Body        []byte // the store may read it until Put returns
	ContentType string // media type: "application/zstd"
	Tags        []Tag  // at most 10, in S3's alphabet; a store that has no tags ignores them
	Identity    string // digest of item and version, for a PerItem object of one change; "" for other objects

	// Item and Version belong to an object with the newest version of its item, in ASCII. They are "" for other
	// objects. Item is the item's key, or the beginning of a long key with a digest.
	Item, Version string
}

// Tag is a label of an object.
type Tag struct{ Key, Value string }

// Store stores objects. Its methods are called concurrently.
//
// Put writes an object that does not exist yet, and blocks until it is durable. If an object of the name exists, Put
// changes nothing and returns ErrExists, like S3 with If-None-Match: *. The existing object is then durable. The same
// holds for the second of two concurrent writers. The caller retries an error that is marked by pipeline.Transient.
//
// If the store is a [Replacer], the sink describes the existing object of a log. If its bytes differ, the sink reads
// it, and replaces it if it does not have the lines whose digest is in its name. Without Stored.Content and
// Stored.CRC32C, the sink does not notice damage that keeps the size.
//
// Get opens an object. It returns ErrNoObject if the object does not exist, or a [*FrozenError] if it must be restored
// first.
type Store interface {
	Put(ctx context.Context, o Object) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
}

// Stored describes a stored object.
type Stored struct {
	Identity, Item, Version string // as in Object; "" if the object was written without them
	Content                 []byte // content of the object, if the store does not keep Identity, Item and Version
	Size                    int64  // bytes, compressed; 0 if Content is set
	Tag                     string // differs after each write of the object; "" if Content is set

	// CRC32C is the checksum of the whole content; nil if Content is set, or if the server does not return it. S3
	// returns none for an object that was written in parts.
	CRC32C *uint32
}

// Describer is a store that describes an object, even one that cannot be read at once, such as one in GLACIER. Describe
// returns ErrNoObject if the object does not exist.
type Describer interface {
	Describe(ctx context.Context, name string) (Stored, error)
}

// Replacer is a store that replaces objects.
//
// Replace writes o in place of the object that Describe described, and blocks until it is durable. If the object was
// written or removed since then, Replace changes nothing and returns ErrExists or ErrNoObject. The same holds for the
// second of two concurrent writers. If the server cannot replace on this condition, Replace changes nothing and returns
// ErrNoConditions, marked by pipeline.Fatal. The caller retries an error that is marked by pipeline.Transient.
type Replacer interface {
	Describer
	Replace(ctx context.Context, o Object, stored Stored) error
}

// Info is an object in a listing.
type Info struct {
	Name     string
	Size     int64     // bytes, compressed
	Modified time.Time // time of the write
	Class    string    // storage class in S3's words; "" if the store has no classes
}

// Lister is a store that can list its objects.
type Lister interface {
	Store

	// List yields the objects whose names start with prefix, sorted by the bytes of their names. The sequence ends
	// after the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}
