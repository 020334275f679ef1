package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"maps"

	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// searchedBy is the value of [search.StoredDocument].DifferingCopy for a document whose search data has other words or
// values than the document.
const searchedBy = "words and values to search by"

// These statements check the search data of documents. The number of a path is unique in the file, so it also
// identifies the index.
const (
	readPaths = `SELECT p.path, p.id FROM json_each(?) j CROSS JOIN "_tws_paths" p
WHERE p."index" = ? AND p.path = j.value`

	// missingValues returns the documents whose values are not all in the file. The argument is a JSON list. Each value
	// has five columns: the position of its document, the path, the document, whether it is a time, and its bytes.
	missingValues = `SELECT DISTINCT j.value ->> 0 FROM json_each(?) j
WHERE NOT EXISTS (SELECT 1 FROM "_tws_values" v WHERE v.path = j.value ->> 1
	AND v.value = iif(j.value ->> 3, CAST(unhex(j.value ->> 4) AS TEXT), unhex(j.value ->> 4)) AND v.doc = j.value ->> 2)`

	// missingWords returns the documents whose words are not all in the file. The argument is a JSON list. Each field
	// with words has two columns: the position of its document, and the rowid of its words in FTS5.
	missingWords = `SELECT DISTINCT j.value ->> 0 FROM json_each(?) j
WHERE NOT EXISTS (SELECT 1 FROM "_tws_words_docsize" w WHERE w.id = j.value ->> 1)`
)

// indexed is a stored document with the list of its search data.
type indexed struct {
	doc             int64
	entries, source []byte
}

// derivedChecker compares the search data of documents with the documents. It remembers the numbers of paths.
type derivedChecker struct {
	index int64
	paths map[string]int64
}

// check reports for each document whether its search data is right. It is right if the stored entries are those of the
// source, and if the file has a row for each entry. check does not compare the words themselves, because FTS5 does not
// store them as text here.
func (c *derivedChecker) check(ctx context.Context, tx *sql.Tx, docs []indexed) (same []bool, err error) {
	parsed, err := c.parse(ctx, tx, docs)
	if err != nil {
		return nil, err
	}

	same = make([]bool, len(docs))
	var parameters checkParameters
	for i, docFields := range parsed {
		if docFields == nil {
			continue
		}
		stored, err := parseEntries(docs[i].entries)
		same[i] = err == nil && c.equal(stored, docFields)
		if same[i] {
			parameters.add(i, docs[i].doc, stored)
		}
	}

	if err := unmarkMissing(ctx, tx, missingValues, parameters.values, same); err != nil {
		return nil, err
	}
	return same, unmarkMissing(ctx, tx, missingWords, parameters.words, same)
}

// checkParameters has the parameters of missingValues and missingWords.
type checkParameters struct{ values, words [][]any }

// add adds the entries of the document with a position and a number.
func (p *checkParameters) add(position int, doc int64, entries []entry) {
	for _, e := range entries {
		switch v := e.value.(type) {
		case []byte:
			p.values = append(p.values, []any{position, e.path, doc, 0, hex.EncodeToString(v)})
		case string:
			p.values = append(p.values, []any{position, e.path, doc, 1, hex.EncodeToString([]byte(v))})
		default:
			p.words = append(p.words, []any{position, rowid(e.path, doc)})
		}
	}
}

// unmarkMissing runs missingValues or missingWords with the given entries. It sets same[i] to false for each document i
// that has a missing entry.
func unmarkMissing(ctx context.Context, tx *sql.Tx, query string, entries [][]any, same []bool) error {
	if len(entries) == 0 {
		return nil
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	return forEachRow(ctx, tx, query, []any{string(text)}, func(rows *sql.Rows) error {
		var i int
		if err := rows.Scan(&i); err != nil {
			return err
		}
		same[i] = false
		return nil
	})
}

// parse returns the fields of each document; nil for a document that cannot be parsed. It also reads the numbers of the
// fields' paths.
func (c *derivedChecker) parse(ctx context.Context, tx *sql.Tx, docs []indexed) ([]fields, error) {
	if c.paths == nil || len(c.paths) > maxPaths {
		c.paths = make(map[string]int64)
	}
	parsed := make([]fields, len(docs))
	var unknown []string
	for i := range docs {
		docFields, err := fieldsOf(docs[i].source)
		if err != nil {
			continue
		}

		parsed[i] = docFields
		for path := range docFields {
			if _, ok := c.paths[path]; !ok {
				c.paths[path] = 0
				unknown = append(unknown, path)
			}
		}
	}
	return parsed, c.readNumbers(ctx, tx, unknown)
}

// readNumbers reads the numbers of paths.
func (c *derivedChecker) readNumbers(ctx context.Context, tx *sql.Tx, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	err := forEachRow(ctx, tx, readPaths, []any{sqlite.JSONArray(unknown), c.index}, func(rows *sql.Rows) error {
		var path string
		var n int64
		err := rows.Scan(&path, &n)
		c.paths[path] = n
		return err
	})
	for _, path := range unknown {
		if c.paths[path] == 0 {
			delete(c.paths, path) // the path may get a number later
		}
	}
	return err
}

// equal reports whether the stored entries are those of docFields.
func (c *derivedChecker) equal(stored []entry, docFields fields) bool {
	inFile := make(map[string]bool, len(stored))
	for _, e := range stored {
		inFile[string(appendEntry(nil, e))] = true
	}

	inDocument := make(map[string]bool, len(stored))
	for path, f := range docFields {
		for e := range f.entries(c.paths[path]) {
			inDocument[string(appendEntry(nil, e))] = true
		}
	}
	return maps.Equal(inFile, inDocument)
}

// forEachRow calls scan with each row of a query.
func forEachRow(ctx context.Context, tx *sql.Tx, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
