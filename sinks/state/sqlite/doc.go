// Package sqlite keeps the state of pipelines in one SQLite file. The state has guards, contributions, tombstones,
// quarantine marks, gaps, births, backfills and fingerprints. Package state explains these words. Stores of rows and
// documents (sinks/view/sqlite, sinks/search/sqlite) put their tables in the same file, so that rows and state change
// in one transaction.
//
// [Open] returns a [DB]. It has one writing connection, which [DB.Write] lends as a [Writer], and several reading
// connections ([Read], [ReadAll], [ReadFirst]). [DB.State] returns the part of the state that a pipeline itself uses.
// When a call returns without an error, its result survives a killed process and a power failure, because each
// transaction is synced before it returns. Several processes may open one file.
//
// The layout of the file has a number ([Format]). If a file has another layout, Open returns an error that says what to
// do. A witness beside the file distinguishes the file from an older copy ([Options].Witness).
//
// Read db.go, writing_connection.go and reading_connections.go first, then schema.go and item_records.go.
package sqlite
