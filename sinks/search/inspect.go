package search

import (
	"context"
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Inspector shows what stands at the ids of documents, tombstones too.
type Inspector interface {
	// Stands reads what stands at the id, as of now and not as of the last refresh.
	// The zero Standing is an id at which nothing is, also where there is no such index.
	// Routing is that of the document's mutations.
	Stands(ctx context.Context, index, id, routing string) (Standing, error)
}

// Standing is what stands at the id of a document.
type Standing struct {
	There     bool
	Tombstone bool            // the document is gone, and older changes of it are refused
	Version   record.Version  // of the change that it is of
	Doc       json.RawMessage // with _tw; nil of a tombstone where the store keeps no document
}
