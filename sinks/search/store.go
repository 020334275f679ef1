package search

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Store holds the documents of any number of indexes.
//
// Apply writes ms and returns one Result for each, in the same order. It blocks
// until the written mutations are durable. A mutation is applied only if
// the store has no newer version at its index and id. The result is Superseded if it has a
// newer version, and Written if it has the same version, since then it already stores the
// change. A void tombstone of the same version is replaced by a mutation that is not void.
// Tombstones have versions like documents, and are kept while an older write can still come.
// Several mutations of one document in ms take effect in their order. The store may skip all
// but the last and report the others as Coalesced, if they fail when the last one fails.
//
// An error fails all of ms; Result.Err fails one mutation. Both are retried only if
// they are marked by pipeline.Transient or RetryAfter. The store may read ms and its
// bytes until Apply returns. Apply is called concurrently.
type Store interface {
	Apply(ctx context.Context, ms []Mutation) ([]Result, error)
}

// Result is the result of one mutation: Written, Superseded or Coalesced, or Err. The result of a repair is Written or
// Lost, or Err.
type Result struct {
	Outcome   pipeline.Outcome
	Overtaken bool // for a repair: the stored document is no longer the one that the repair read
	Err       error
}

// Mutation puts one document, or a tombstone in its place.
type Mutation struct {
	Birth string // birth of the sink's output; a stored document of another birth is a fatal error
	Index string // lower case, checked by CheckIndex
	ID    string // at most 512 bytes; see DocumentID and Options.HashID
	// Routing is the routing of the document, which never changes, since it depends on the item's key alone; "" routes
	// by the id
	Routing string
	Version record.Version
	// Time is the creation time of the change, to the second; zero if unknown; for a backfill a time before all changes
	// of the stream
	Time      time.Time
	Tombstone bool // the item no longer has a document in this index; readers never see Doc
	// Void is set only with a Tombstone: the change has no document, because it could not be made; a mutation of the
	// same version that is not void may replace it
	Void bool
	Doc  []byte // plain JSON object with _tw; for a tombstone only _tw
	Why  Cause

	changeErr error // error of the change: the change fails with it once this mutation is durable; may be nil
}

// Cause says, for people, why a mutation is made.
type Cause string

// The values of Why.
const (
	Enter       Cause = "enter"   // the item gets a document
	Stay        Cause = "stay"    // its document is replaced
	Leave       Cause = "leave"   // the item no longer belongs here
	ItemRemoved Cause = "removed" // the item is gone
	MoveIn      Cause = "move in" // from another index, where MoveOut leaves a tombstone
	MoveOut     Cause = "move out"
)

// String returns a line of `explain`: put document products/PRODUCT%23p1,DETAIL (enter, 312 bytes).
func (m *Mutation) String() string {
	routing := ""
	if m.Routing != "" {
		routing = ", routing " + m.Routing
	}
	if m.Tombstone {
		return fmt.Sprintf("delete document %s/%s (%s, leaves a tombstone%s%s)", m.Index, m.ID, m.Why, routing, m.flawText())
	}
	return fmt.Sprintf("put document %s/%s (%s, %d bytes%s%s)", m.Index, m.ID, m.Why, len(m.Doc), routing, m.flawText())
}

func (m *Mutation) flawText() string {
	if m.changeErr == nil {
		return ""
	}
	return "; the change goes to dead letters: " + m.changeErr.Error()
}

// Reader reads documents. It never returns tombstones.
type Reader interface {
	// Indexes lists the indexes by name.
	Indexes(ctx context.Context) ([]string, error)

	// Search finds the documents that match a query in the store's own query language, best first; "" or "*" matches
	// all. limit 0 means 10. It returns ErrNoIndex if the index does not exist.
	Search(ctx context.Context, index, query string, limit int) (Hits, error)

	// Documents yields every document of an index in the order of the ids. A
	// pulled error ends the sequence.
	Documents(ctx context.Context, index string) iter.Seq2[Document, error]
}

// Emptier is implemented by stores that may forget. Empty reports whether the sink has neither documents nor tombstones
// in the store. Then the whole history can be replayed (state.Retention).
type Emptier interface {
	Empty(ctx context.Context) (bool, error)
}

// ErrNoIndex means that the store has no index of the requested name.
var ErrNoIndex = errs.New("search: no such index")

// Hits is the result of a search.
type Hits struct {
	Total     uint64 // number of matching documents; Documents has the best of them
	Documents []Document
}

// Document is a document as it was written.
type Document struct {
	Index string          `json:"index"`
	ID    string          `json:"id"`
	Score float64         `json:"score,omitempty"` // 0 outside searches
	Doc   json.RawMessage `json:"document"`
}
