package snapshot

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Snapshot gives access to the items of one table. Its methods are safe for concurrent use.
type Snapshot interface {
	// Info describes the whole snapshot. It does not block.
	Info() Info

	// Parts returns the parts in the order of their IDs. Every process that opens the same snapshot gets the same
	// parts. Parts does not block, and the caller must not change the result.
	Parts() []Part

	// Open opens a part after the position from, which is the Position of a page of the part. "" is the start of the
	// part. ctx must not end before the reader is closed.
	Open(ctx context.Context, id string, from pipeline.Position) (Reader, error)
}

// Reader reads one part. One goroutine uses it.
type Reader interface {
	// Read returns the next page, and io.EOF after the last page. It sets Position, Bytes and Decode of the page.
	// io.EOF means that the part is complete, and that any check of the whole part has succeeded. Read retries
	// transient errors itself. After an error the caller only closes the reader.
	Read(ctx context.Context) (*pipeline.Page, error)

	// Close frees the reader. It does not block.
	Close() error
}

// Part is one part of a snapshot.
type Part struct {
	ID    string // unique in the snapshot
	Items int64  // -1 if unknown
	Bytes int64  // stored size, perhaps compressed; -1 if unknown
}

// Info describes a snapshot.
type Info struct {
	// Source is the canonical name: it is the same for all processes that read the same snapshot. Examples are "export
	// s3://bucket/prefix/AWSDynamoDB/01695097218000-d6299cbd/", "scan
	// arn:aws:dynamodb:eu-west-1:123456789012:table/shop segments 16 begun 2026-11-23T14:00:00Z" and "items dump.jsonl
	// sha256:a09bc7652f18d349". The last example has a digest of the content of the files.
	Source string

	Time       time.Time       // every item has the state of this time or later; zero if unknown
	OldestTime time.Time       // time of the full export; start of an incremental export that is read alone; else Time
	TableARN   string          // "" if unknown
	View       record.ViewType // NewImage if some changes lack a usable old image; otherwise NewAndOldImages
	Items      int64           // -1 if unknown
	Bytes      int64           // stored size, perhaps compressed; -1 if unknown
}
