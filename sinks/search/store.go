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
// Apply writes mutations and returns one Result for each, in the same order. It blocks until the written mutations are
// durable. The store applies a mutation only if it has no newer version at the mutation's index and id. The result is
// Superseded if the store has a newer version. The result is Written if the store has the same version, since it then
// already stores the change. A void tombstone of the same version is replaced by a mutation that is not void.
// Tombstones have versions like documents, and are kept while an older write can still come. Several mutations of one
// document in one call take effect in their order. The store may skip all of these mutations but the last, and report
// the skipped mutations as Coalesced. If the last mutation fails, those it stands for must fail too.
//
// A returned error means that all mutations failed; Result.Err means that one mutation failed. The pipeline retries an
// error only if it is marked by pipeline.Transient or pipeline.RetryAfter. The store may read mutations and their bytes
// until Apply returns. Apply is called concurrently.
type Store interface {
	Apply(ctx context.Context, mutations []Mutation) ([]Result, error)
}

// Result is the result of one mutation or repair. A mutation has the Outcome Written, Superseded or Coalesced, or it
// has Err. A repair is done, Overtaken, or has Err.
type Result struct {
	Outcome   pipeline.Outcome
	Overtaken bool // for a repair: the stored document has changed since it was read
	Err       error
}

// Mutation puts one document, or a tombstone in its place.
type Mutation struct {
	Birth string // random id of the sink's output; a stored document of another birth is a fatal error
	Index string // lower case, checked by CheckIndex
	ID    string // at most 512 bytes; see DocumentID and Options.HashID
	// Routing is the routing of the document. It depends on the item's key alone, so it never changes. "" routes by the
	// id
	Routing string
	Version record.Version
	// Time is the creation time of the change, to the second. It is zero if it is unknown. For a backfill it is a time
	// before all changes of the stream
	Time time.Time
	// Tombstone means that the item no longer has a document in this index. Readers do not see Doc
	Tombstone bool
	// Void is set only with Tombstone. It means that the change has no document because none could be made. A mutation
	// of the same version that is not void may replace a void tombstone
	Void bool
	Doc  []byte // plain JSON object with _tw; a tombstone has only _tw
	Why  Cause

	// changeErr is the error with which the change fails once the mutation is durable. It may be nil
	changeErr error

	mayReplaceExpired bool // the document of an expired item may be stored there, because its TTL delete was dropped
}

// Cause is the reason why a mutation is made. It is shown to people.
type Cause string

// The values of Why.
const (
	Enter       Cause = "enter"   // the item gets a document
	Stay        Cause = "stay"    // the item's document is replaced
	Leave       Cause = "leave"   // the item no longer has a document in this index
	ItemRemoved Cause = "removed" // the item is gone
	// MoveIn means that the document comes from another index, where a MoveOut leaves a tombstone
	MoveIn  Cause = "move in"
	MoveOut Cause = "move out"
)

// String returns a line of `explain`, such as: put document products/PRODUCT%23p1,DETAIL (enter, 312 bytes).
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

	// Search finds the documents that match a query, best first. Each store has its own query language; "" or "*"
	// matches all documents. limit 0 means 10. Search returns ErrNoIndex if the index does not exist.
	Search(ctx context.Context, index, query string, limit int) (Hits, error)

	// Documents yields every document of an index in the order of the ids. An error ends the sequence.
	Documents(ctx context.Context, index string) iter.Seq2[Document, error]
}

// Emptier is implemented by stores that may forget old tombstones. Empty reports whether the sink has neither documents
// nor tombstones in the store. If Empty returns true, the whole history can be replayed (state.Retention).
type Emptier interface {
	Empty(ctx context.Context) (bool, error)
}

// ErrNoIndex means that the store has no index of the requested name.
var ErrNoIndex = errs.New("search: no such index")

// Hits is the result of a search.
type Hits struct {
	Total     uint64 // number of matching documents; Documents may have fewer
	Documents []Document
}

// Document is a document as it was written.
type Document struct {
	Index string          `json:"index"`
	ID    string          `json:"id"`
	Score float64         `json:"score,omitempty"` // 0 outside searches
	Doc   json.RawMessage `json:"document"`
}
