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
// Apply writes ms and answers with one Result each, in the same order. It blocks
// until what it reports as written is durable. A mutation is applied only where
// the store holds no newer version of the same (index, id): a newer one there is
// Superseded, the same version there is Written, since the store holds what the
// change says, unless it is void and the mutation is not: then it is replaced; a tombstone is a version like any other and is never forgotten
// while an older write can still come. Several mutations of one document in ms
// take effect in their order; the store may skip all but the last and report the
// others as Coalesced, on condition that they then fail where the last one fails.
//
// An error fails all of ms; Result.Err fails one. Both are retried only where
// they are marked by pipeline.Transient or RetryAfter. ms and the bytes in it are
// the store's to read until Apply returns. Apply is called concurrently.
type Store interface {
	Apply(ctx context.Context, ms []Mutation) ([]Result, error)
}

// Result is what became of one mutation: Written, Superseded or Coalesced, or Err.
type Result struct {
	Outcome pipeline.Outcome
	Err     error
}

// Mutation puts one document, or a tombstone in its place.
type Mutation struct {
	Birth     string // of the sink's output: a document of another one is not written over, which is a fatal error
	Index     string // lower case, checked by CheckIndex
	ID        string // at most 512 bytes; see DocumentID and Options.HashID
	Routing   string // of the document, the same for ever: made of its item's key; "": by its id
	Version   record.Version
	Time      time.Time // creation time of the change, to the second; zero where it has none
	Tombstone bool      // the item has no document here any more; readers never see Doc
	Void      bool      // of a tombstone: no document could be made of the change; the same version may replace it, unless it is void too
	Doc       []byte    // plain JSON object with _tw; of a tombstone: nothing but _tw
	Why       Why

	flaw error // of the change: once what it leaves is durable it fails with it; nil: none
}

// Why says what the change means to the index, for people.
type Why string

// What a change can mean to one index.
const (
	Enter   Why = "enter"   // the item gets a document
	Stay    Why = "stay"    // its document is replaced
	Leave   Why = "leave"   // the item no longer belongs here
	Gone    Why = "removed" // the item is gone
	MoveIn  Why = "move in" // from another index, where MoveOut leaves a tombstone
	MoveOut Why = "move out"
)

// String is a line of `explain`: put document products/PRODUCT%23p1,DETAIL (enter, 312 bytes).
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
	if m.flaw == nil {
		return ""
	}
	return "; the change goes to dead letters: " + m.flaw.Error()
}

// Reader reads documents back. Tombstones are never shown.
type Reader interface {
	// Indexes lists the indexes by name.
	Indexes(ctx context.Context) ([]string, error)

	// Search finds the documents that match a query in the store's own query
	// language, best first; "" or "*" matches all. limit 0 means 10.
	// ErrNoIndex when there is no such index.
	Search(ctx context.Context, index, query string, limit int) (Hits, error)

	// Documents yields every document of an index in the order of the ids. A
	// pulled error ends the sequence.
	Documents(ctx context.Context, index string) iter.Seq2[Document, error]
}

// Emptier tells whether a sink has anything in its store: documents or tombstones. A
// store implements it that forgets, so that all of the history may be replayed into
// what is empty (state.Retention).
type Emptier interface {
	Empty(ctx context.Context) (bool, error)
}

// ErrNoIndex means that a store holds no index of the name asked for.
var ErrNoIndex = errs.New("search: no such index")

// Hits is the answer to a search.
type Hits struct {
	Total     uint64 // documents that match; Documents holds the best of them
	Documents []Document
}

// Document is a document as it was written.
type Document struct {
	Index string          `json:"index"`
	ID    string          `json:"id"`
	Score float64         `json:"score,omitempty"` // 0 outside searches
	Doc   json.RawMessage `json:"document"`
}
