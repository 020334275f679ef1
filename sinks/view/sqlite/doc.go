// Package sqlite keeps the rows of views in one SQLite file.
//
// Successful writes survive a killed process and a power failure: a call is one transaction, and the transaction is
// synced to disk before the call returns. A row is written only if the stored row and its tombstone have lower
// versions. The transaction compares the versions, so several processes may write one file.
//
// Guards, claims and contributions are in tables of the same file (package sinks/state/sqlite). Rows that are guarded
// by item change in one transaction with the guards and claims. Rows of aggregates change in one transaction with the
// contributions. The values of an aggregate are attributes of its rows. Counts and sums are exact. They are text if
// they have more digits than a number of DynamoDB. A min, max or distinct costs one or two index lookups for each
// change, whatever the number of members.
//
// For a view table named shop-views, the file has a table and an SQL view:
//
//   - The table "_tw_shop-views" has the rows and the tombstones in place. Each has a version, an owner, the attributes
//     as plain JSON, and the whole row as DynamoDB JSON, which keeps numbers exact.
//   - The SQL view "shop-views" is for people. It has columns with the names of the key attributes, and a column with
//     the other attributes as JSON. It leaves out tombstones. A key that is not a string is shown as in DynamoDB JSON:
//     a number by its digits, a binary in base64.
//
// So sqlite3 views.db 'select * from "shop-views"' reads a view, ordered by key. Tombstones that are apart from their
// rows are in a table of package sinks/state/sqlite.
//
// # Reading order
//
// store.go opens a file. schema.go creates the tables and has the statements. key_column.go encodes keys.
// transaction.go runs writes. row_write.go puts and deletes rows after their guards were checked. [Store.Apply] writes
// rows that guard themselves, and makes their columns (mutation_apply.go, separate_tombstones.go). [Store.WriteItems]
// writes claims (row_claims.go), and [Store.Contribute] writes groups (group_write.go). row_reader.go and
// row_inspector.go read rows. sink_output.go counts the rows of a sink for package state.
package sqlite
