package search

import (
	"context"
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Inspector reads stored documents by id, including tombstones.
type Inspector interface {
	// ReadStored returns what is stored at an id now, independent of the last refresh. It returns
	// the zero StoredDocument if nothing is stored, or if the index is missing.
	// routing is the routing of the document's mutations.
	ReadStored(ctx context.Context, index, id, routing string) (StoredDocument, error)
}

// StoredDocument is a document or a tombstone in an index.
type StoredDocument struct {
	Exists    bool
	Tombstone bool            // the document is deleted, and older changes of it are refused
	Version   record.Version  // version of the change that wrote it
	Doc       json.RawMessage // the document with _tw; nil for a tombstone of a store that keeps no document for it
	// Derived is search data that the store derives from the document and that does not match the document; "" if there
	// is none
	Derived string
}
