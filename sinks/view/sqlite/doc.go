// Package sqlite keeps the rows of views in one SQLite file.
//
// What [Store.Apply] reports as held survives a killed process and a power
// failure: a call is one transaction, synced before it returns. A row is written
// only over a lower version of it and of its tombstone, which is decided in that
// transaction, so that several processes may write one file.
//
// Rows that are guarded by item, and the rows of aggregates, change in one
// transaction with what is remembered of the items, which is in tables of the same
// file (package sinks/state/sqlite). The values of an aggregate stand in its
// rows as attributes: counts and sums exactly, and as text where they have more digits
// than a number of DynamoDB; a min, a max or a distinct costs a step or two down an
// index for each change, however many members it has.
//
// A view table named shop-views is two things in the file:
//
//   - the table "_tw_shop-views" holds rows, and tombstones in place, with version, owner,
//     the attributes as plain JSON and the whole row as DynamoDB JSON, in which numbers
//     are as exact as they came;
//   - the SQL view "shop-views" is for people: the key attributes by their names and
//     the attributes as JSON, without tombstones. A key that is no string is shown
//     as DynamoDB JSON shows it: a number by its digits, a binary in base64.
//
// So sqlite3 views.db 'select * from "shop-views"' reads a view, ordered by key. Tombstones apart
// are in the table "_tws_tombstones".
package sqlite
