package search

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
)

// Repairer is implemented by a [Store] that can repair documents. A repair is made after a comparison found that a
// stored document differs from the document that is planned for the item.
type Repairer interface {
	// RepairDocuments applies each repair whose Expected document is still stored. It returns one Result for each
	// repair, in order. A repair is Overtaken if the stored document has changed since Expected was read, because
	// another repair or a change of the stream was first. An Overtaken repair changes nothing, and the caller compares
	// the document again.
	//
	// A repair stores the version of Next. Newer changes of the item replace the repaired document, and older changes do
	// not.
	//
	// RepairDocuments blocks. Several goroutines and processes may call it at once. The repairs of one call are all of
	// different documents. A repair without an error that is not Overtaken is durable. Errors are those of [Store].
	RepairDocuments(ctx context.Context, repairs []DocumentRepair) ([]Result, error)
}

// DocumentRepair replaces what is stored at the id of a document.
type DocumentRepair struct {
	// Expected is the stored document, as [Inspector] or [Lister] read it. The zero StoredDocument means that nothing
	// is stored
	Expected StoredDocument
	// Next is the document or the tombstone to store. Its version should be newer than that of Expected
	Next Mutation
}

// Matches reports whether d and e are the same document or tombstone. It compares documents as JSON, and numbers in
// them by their digits. It compares tombstones by their version.
func (d *StoredDocument) Matches(e *StoredDocument) bool {
	if d.Exists != e.Exists || d.Tombstone != e.Tombstone || d.Version != e.Version {
		return false
	}
	return d.Tombstone || sameJSON(d.Doc, e.Doc)
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	valueA, errA := decodeJSON(a)
	valueB, errB := decodeJSON(b)
	return errA == nil && errB == nil && reflect.DeepEqual(valueA, valueB)
}

func decodeJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
