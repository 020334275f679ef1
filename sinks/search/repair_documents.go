package search

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Repairer is implemented by a [Store] that can repair documents. A repair is made after a comparison found that a
// stored document differs from the document that is planned for the item.
type Repairer interface {
	// RepairDocuments applies each repair whose Expected document is still stored. It returns one Result for each
	// repair, in order. A repair is Overtaken if the stored document has changed since Expected was read, because
	// another repair or a change of the stream was first. An Overtaken repair changes nothing, and the caller compares
	// the document again.
	//
	// A repair keeps the version that it read. So newer changes of the item replace the repaired document, and older
	// changes do not.
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
	// Next is the document or the tombstone to store. Its version is used only if Expected has no version
	Next Mutation
}

// Mutation returns Next with the version that the repair keeps, both in the mutation and in its document.
func (r *DocumentRepair) Mutation() (Mutation, error) {
	m := r.Next
	if r.Expected.Version.IsZero() {
		return m, nil
	}
	m.Version = r.Expected.Version
	var err error
	m.Doc, err = withVersion(m.Doc, m.Version)
	return m, err
}

// versionStart begins every document that a sink makes.
const versionStart = `{"` + reserved + `":{"version":"`

// withVersion returns doc with its version replaced by v.
func withVersion(doc []byte, v record.Version) ([]byte, error) {
	rest, ok := bytes.CutPrefix(doc, []byte(versionStart))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return nil, errs.Errorf("search: a document to repair does not begin with its version, %s: it was not made by a sink",
			versionStart)
	}
	return append(v.Append([]byte(versionStart)), rest[end:]...), nil
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
