package search

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// Lister lists the documents of an index.
type Lister interface {
	// ListDocuments yields the documents of the store's sink in an index, each once, in no order. It leaves out
	// tombstones. It also yields documents that another output of the sink wrote. They have another birth (the id of an
	// output). A document that is written during the listing, or is not refreshed yet, may be missing or have its
	// former content. Several goroutines may list at once. A listing holds one page in memory. An error ends the
	// sequence. The error is [ErrNoIndex] if the sink has no such index.
	ListDocuments(ctx context.Context, index string, l state.Listing) iter.Seq2[ListedDocument, error]
}

// ListedDocument is a document with its id and routing in the index.
type ListedDocument struct {
	ID      string
	Routing string // "" routes by the id
	StoredDocument

	// Item is the key of the item, as [ItemOf] takes it from the id. It is "" if the id is a digest. Key attributes
	// that the sink hides are masked in it.
	Item item.Key
}
