package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// A rowid of _tws_words combines two numbers: the path in the upper bits, and the document in the lower 32 bits. The
// words of one path have adjacent rowids, so FTS5 stores them together.
const (
	docBits = 32
	mostDoc = 1<<docBits - 1
)

// layout holds the statements that create the tables of search indexes. The first store that writes to the file
// executes them. The format number of the file also changes if these tables change.
var layout = []string{
	`CREATE TABLE IF NOT EXISTS "_tws_indexes" (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	pipeline TEXT NOT NULL, -- of the sink that it belongs to
	sink TEXT NOT NULL
) STRICT`,
	`CREATE TABLE IF NOT EXISTS "_tws_documents" (
	doc INTEGER PRIMARY KEY,
	"index" INTEGER NOT NULL,
	id TEXT NOT NULL,
	routing TEXT NOT NULL, -- an index is one shard, so it only says what was asked for
	version TEXT NOT NULL,
	void INTEGER NOT NULL, -- of a tombstone: no document could be made of that change
	birth TEXT NOT NULL,
	entries BLOB NOT NULL, -- what it has in _tws_words and _tws_values: entries.go
	source TEXT,           -- as it was written; NULL for a tombstone
	UNIQUE ("index", id)
) STRICT`,
	`CREATE TABLE IF NOT EXISTS "_tws_paths" (
	id INTEGER PRIMARY KEY,
	"index" INTEGER NOT NULL,
	path TEXT NOT NULL,
	UNIQUE ("index", path)
) STRICT`,
	// A row holds the words of one document at one path, separated by spaces. indexed_words.go decides what a word is;
	// the tokenizer only splits at spaces.
	`CREATE VIRTUAL TABLE IF NOT EXISTS "_tws_words" USING fts5(words, content='', contentless_delete=1, tokenize='ascii')`,
	// Numbers are BLOBs and times are TEXT, both sorted by their bytes: sortable_values.go.
	`CREATE TABLE IF NOT EXISTS "_tws_values" (
	path INTEGER NOT NULL,
	value ANY NOT NULL,
	doc INTEGER NOT NULL,
	PRIMARY KEY (path, value, doc)
) STRICT, WITHOUT ROWID`,
}

const (
	// isFilled is an SQL condition: the index i of _tws_indexes has documents or tombstones.
	isFilled = `EXISTS (SELECT 1 FROM "_tws_documents" d WHERE d."index" = i.id)`

	// claimIndex creates an index, or takes over an index that has no documents and no tombstones.
	claimIndex = `INSERT INTO "_tws_indexes" AS i (name, pipeline, sink) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET pipeline = excluded.pipeline, sink = excluded.sink
WHERE NOT ` + isFilled

	// readFilledIndexOwner returns the owner of an index that claimIndex does not take over.
	readFilledIndexOwner = `SELECT pipeline, sink FROM "_tws_indexes" AS i WHERE name = ? AND ` + isFilled

	readIndex      = `SELECT id, pipeline, sink FROM "_tws_indexes" WHERE name = ?`
	readIndexID    = `SELECT id FROM "_tws_indexes" WHERE name = ?`
	readOwnIndexID = readIndexID + ` AND pipeline = ? AND sink = ?`
	allNames       = `SELECT name FROM "_tws_indexes" ORDER BY name`

	readStoredDocuments = `SELECT j.key, d.doc, d.version, d.void, d.birth, d.entries
FROM json_each(?) j CROSS JOIN "_tws_documents" d WHERE d."index" = ? AND d.id = j.value`

	lastDoc = `SELECT coalesce(max(doc), 0) FROM "_tws_documents"`

	writeDocument = `INSERT INTO "_tws_documents" (doc, "index", id, routing, version, void, birth, entries, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (doc) DO UPDATE SET routing = excluded.routing, version = excluded.version, void = excluded.void, entries = excluded.entries, source = excluded.source`

	readPath  = `SELECT id FROM "_tws_paths" WHERE "index" = ? AND path = ?`
	writePath = `INSERT INTO "_tws_paths" ("index", path) VALUES (?, ?) RETURNING id`

	addWords    = `INSERT INTO "_tws_words" (rowid, words) VALUES (?, ?)`
	removeWords = `DELETE FROM "_tws_words" WHERE rowid = ?`

	addValue    = `INSERT OR IGNORE INTO "_tws_values" (path, value, doc) VALUES (?, ?, ?)`
	removeValue = `DELETE FROM "_tws_values" WHERE path = ? AND value = ? AND doc = ?`
)

// hasLayout reports whether the file has the tables of indexes.
func hasLayout(ctx context.Context, db *sqlite.DB) (bool, error) {
	return sqlite.HasTable(ctx, db, "_tws_indexes")
}

// prepare creates the tables if they are missing.
func prepare(ctx context.Context, db *sqlite.DB, w *sqlite.Writer) error {
	if exists, err := hasLayout(ctx, db); err != nil || exists {
		return err
	}
	return w.Transact(func() error {
		for _, q := range layout {
			if err := w.ExecDDL(q); err != nil {
				return err
			}
		}
		return nil
	})
}
