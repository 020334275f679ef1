package snapshot

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Snapshot shows the items of one table. Its methods are safe for concurrent use.
type Snapshot interface {
	// Info describes the whole snapshot. It does not block.
	Info() Info

	// Parts returns the parts in the order of their IDs. They are the same in every process that opens the same
	// snapshot. It does not block, and the caller must not change the result.
	Parts() []Part

	// Open opens a part after a position that a page of the part had; "" is the start. ctx is valid until the reader
	// is closed.
	Open(ctx context.Context, id string, from pipeline.Position) (Reader, error)
}

// Reader reads one part. One goroutine uses it.
type Reader interface {
	// Read returns the next page, and io.EOF after the last. It sets Position, Bytes and Decode. io.EOF means that the
	// part is complete: any check of the whole part has succeeded. Read retries transient errors itself; after any error
	// the reader is only closed.
	Read(ctx context.Context) (*pipeline.Page, error)

	// Close frees the reader. It does not block.
	Close() error
}

// ByteCounter is implemented by readers of parts with an unknown number of items, for the progress.
type ByteCounter interface {
	// StoredBytes returns how many bytes of the part, as stored, are read. The goroutine of Read calls it.
	StoredBytes() int64
}

// Part is one part of a snapshot.
type Part struct {
	ID    string // unique in the snapshot
	Items int64  // -1 unknown
	Bytes int64  // as stored, perhaps compressed; -1 unknown
}

// Info describes a snapshot.
type Info struct {
	// Source is the canonical name: two processes that read the same snapshot have the same. Examples are
	// "export s3://bucket/prefix/AWSDynamoDB/01695097218000-d6299cbd/" and
	// "scan arn:aws:dynamodb:eu-west-1:123456789012:table/shop segments 16 begun 2026-11-23T14:00:00Z" and
	// "items dump.jsonl sha256:a09bc7652f18d349", with a digest of how the files begin.
	Source string

	Time     time.Time       // every item is shown as it was then or later; zero if unknown
	From     time.Time       // time of the oldest layer; equals Time if there is one layer
	TableARN string          // "" unknown
	View     record.ViewType // NewImage if some changes lack a usable old image; otherwise NewAndOldImages
	Items    int64           // -1 unknown
	Bytes    int64           // as stored, perhaps compressed; -1 unknown
}
