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
	// tombstones. A document of another birth is yielded. A document that is written meanwhile, or not refreshed
	// yet, may be missing, or be as it was. Several goroutines may list at once. It holds one page in memory. A
	// pulled error ends the sequence. The error is [ErrNoIndex] if the sink has no such index.
	ListDocuments(ctx context.Context, index string, l state.Listing) iter.Seq2[ListedDocument, error]
}

// ListedDocument is a document with its place in the index.
type ListedDocument struct {
	ID      string
	Routing string // "" routes by the id
	StoredDocument

	// Item is the item's key, if the id is one ([ItemOf]). A key attribute that the sink hides is masked in it.
	Item item.Key
}
