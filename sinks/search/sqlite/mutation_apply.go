package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// Apply writes mutations in one transaction, as search.Store defines. Mutations of an index that belongs to another
// sink fail with a [search.ForeignIndexError]. Apply returns a transient error if another process uses the file, and a
// fatal error if the file cannot be written.
func (s *Store) Apply(ctx context.Context, mutations []search.Mutation) ([]search.Result, error) {
	parsed := make([]fields, len(mutations))
	for i := range mutations { // parse before waiting for the turn to write
		if mutations[i].Tombstone {
			continue
		}
		var err error
		if parsed[i], err = fieldsOf(mutations[i].Doc); err != nil {
			return nil, fmt.Errorf("sqlite: document %s: %w", mutations[i].ID, err)
		}
	}
	results := make([]search.Result, len(mutations))
	if err := s.transact(ctx, func(t *tx) error { return t.apply(ctx, mutations, parsed, results) }); err != nil {
		return nil, err
	}
	return results, nil
}

// transact runs do in a transaction.
func (s *Store) transact(ctx context.Context, do func(t *tx) error) error {
	return s.db.Write(ctx, func(w *sqlite.Writer) error {
		t := &tx{Writer: w, store: s}
		err := w.Transact(func() error { return do(t) })
		if err != nil {
			clear(s.paths) // they may have numbers that were assigned in this transaction, which is rolled back
		}
		return err
	})
}

// tx is a transaction that writes documents.
type tx struct {
	*sqlite.Writer
	store   *Store
	nextDoc int64 // number of the next new document; 0: not read yet
	changes changes
}

// stored is the stored version of a document.
type stored struct {
	doc     int64 // number of the document; 0: nothing is stored
	version record.Version
	void    bool // of a tombstone: no document could be made of the item
	birth   string
	entries []byte
}

// apply writes mutations, and sets their results. parsed are the fields of their documents.
func (t *tx) apply(ctx context.Context, mutations []search.Mutation, parsed []fields, results []search.Result) error {
	byIndex := make(map[string][]int) // positions of mutations, by the name of the index
	var names []string
	coalesced := search.Coalesce(mutations)
	for _, i := range coalesced.Newest {
		name := mutations[i].Index
		if byIndex[name] == nil {
			names = append(names, name)
		}
		byIndex[name] = append(byIndex[name], i)
	}

	for _, name := range names {
		if err := t.applyToIndex(ctx, name, byIndex[name], mutations, parsed, results); err != nil {
			return err
		}
	}
	coalesced.Share(mutations, results)
	return t.changes.flush(t)
}

// applyToIndex writes the mutations at the given positions, all of one index. A mutation that does not replace the
// stored version is superseded, unless it is the stored version itself.
func (t *tx) applyToIndex(
	ctx context.Context, name string, positions []int, mutations []search.Mutation, parsed []fields,
	results []search.Result,
) error {
	index, foreignErr, err := t.store.ensureIndex(t.Writer, name)
	if err != nil {
		return err
	}
	if foreignErr != nil {
		for _, i := range positions {
			results[i].Err = foreignErr
		}
		return nil
	}

	storedByID, err := t.read(index, mutations, positions)
	if err != nil {
		return err
	}
	for _, i := range positions {
		m := &mutations[i]
		current, isStored := storedByID[m.ID]
		if isStored && current.birth != m.Birth {
			return state.BirthMismatch("", "a document of index "+m.Index, current.birth, m.Birth)
		}
		if isStored && !m.Replaces(current.version, current.void) {
			wasWritten := m.Version == current.version
			if !wasWritten {
				results[i].Outcome = pipeline.Superseded
			}
			continue
		}
		if ctx.Err() != nil {
			return sqlite.CanceledError(ctx)
		}
		if err := t.replace(index, m, parsed[i], current, writeChanged); err != nil {
			return err
		}
	}
	return nil
}

// read returns the stored versions of the documents that the mutations at positions write, by id.
func (t *tx) read(index int64, mutations []search.Mutation, positions []int) (map[string]stored, error) {
	ids := make([]string, len(positions))
	for n, i := range positions {
		ids[n] = mutations[i].ID
	}

	storedByID := make(map[string]stored, len(positions))
	err := t.QueryRows(readStoredDocuments, []any{sqlite.JSONArray(ids), index}, func(rows *sql.Rows) error {
		var n int
		var version string
		var d stored
		if err := rows.Scan(&n, &d.doc, &version, &d.void, &d.birth, &d.entries); err != nil {
			return t.store.db.WrapError("read", err)
		}
		var err error
		if d.version, err = record.ParseVersion(version); err != nil {
			return t.store.db.Damaged("the document "+ids[n], err)
		}
		storedByID[ids[n]] = d
		return nil
	})
	return storedByID, err
}

var errTooMany = errs.New("sqlite: the file holds as many documents as it can: give some sinks another folder")

// replace writes a document, and collects the changed words and values in t.changes.
func (t *tx) replace(index int64, m *search.Mutation, docFields fields, current stored, mode writeMode) error {
	doc := current.doc
	if doc == 0 {
		var err error
		if doc, err = t.newDoc(); err != nil {
			return err
		}
	}

	oldEntries, err := parseEntries(current.entries)
	if err != nil {
		return t.store.db.Damaged("the document "+m.ID, err)
	}
	entries, err := t.changes.diff(t, index, doc, oldEntries, docFields, mode)
	if err != nil {
		return err
	}

	var source any // NULL
	if !m.Tombstone {
		source = string(m.Doc)
	}
	return t.Exec(writeDocument, doc, index, m.ID, m.Routing, m.Version.String(), m.Void, m.Birth, entries,
		source)
}

// newDoc returns the number for a new document.
func (t *tx) newDoc() (int64, error) {
	if t.nextDoc == 0 {
		var last int64
		if _, err := t.QueryRow(lastDoc, nil, &last); err != nil {
			return 0, err
		}
		t.nextDoc = last + 1
	}
	if t.nextDoc > mostDoc {
		return 0, pipeline.Fatal(errTooMany)
	}
	doc := t.nextDoc
	t.nextDoc++
	return doc, nil
}
