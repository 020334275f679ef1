package search

import (
	"context"
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Inspector reads stored documents by id, including tombstones.
type Inspector interface {
	// ReadStored returns the document or the tombstone that is stored at an id now. It does not wait for a refresh of
	// the index. It returns the zero StoredDocument if nothing is stored, or if the index is missing. routing is the
	// routing of the document's mutations.
	ReadStored(ctx context.Context, index, id, routing string) (StoredDocument, error)
}

// StoredDocument is a document or a tombstone in an index.
type StoredDocument struct {
	Exists bool
	// Tombstone means that the document is deleted, and the store refuses older changes of it
	Tombstone bool
	Version   record.Version // version of the change that wrote it
	// Doc is the document with _tw. It is nil for a tombstone if the store keeps no document for tombstones
	Doc json.RawMessage
	// DifferingCopy names the search data that the store made from the document and that does not match it; "" if all
	// search data matches
	DifferingCopy string
}
