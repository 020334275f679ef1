package search

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Repairer is implemented by a [Store] that can set documents to the planned ones of the source table's items, if a
// comparison found a difference.
type Repairer interface {
	// RepairDocuments applies each repair on condition that what it read is still stored, and returns one Result for
	// each, in order. A repair is Lost if something else is stored by now: another repair or a change of the stream was
	// first. Then nothing was changed, and the document is to be compared again.
	//
	// A repair keeps the version that it read. So later changes of the item replace the repaired document, and older
	// ones do not.
	//
	// It blocks, and may be called by several goroutines and processes. Each repair of a call has another document. The
	// result Written is durable. Errors are those of [Store].
	RepairDocuments(ctx context.Context, ds []DocumentRepair) ([]Result, error)
}

// DocumentRepair replaces what is stored at the id of a document.
type DocumentRepair struct {
	// Expected is the stored document, as [Inspector] or [Lister] read it; the zero StoredDocument: nothing is stored
	Expected StoredDocument
	// Next is the document or the tombstone to store. Its version counts only if nothing with a version is stored
	Next Mutation
}

// Mutation returns Next at the version that the repair keeps, also in its document.
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

// withVersion returns a document with another version.
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
	return d.Exists == e.Exists && d.Tombstone == e.Tombstone && d.Version == e.Version &&
		(d.Tombstone || sameJSON(d.Doc, e.Doc))
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := decodeJSON(a)
	y, other := decodeJSON(b)
	return err == nil && other == nil && reflect.DeepEqual(x, y)
}

func decodeJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
