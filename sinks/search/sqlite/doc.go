// Package sqlite keeps the documents of search indexes in one SQLite file. FTS5, the full-text search of SQLite, finds
// them.
//
// A write that [Store.Apply] reports as written survives a killed process and a power failure. Each call is one
// transaction, and is synced before the call returns. The same transaction checks the version of a document and writes
// the document. The file also holds the views and the state (package sinks/state/sqlite). All of them share one writer,
// one lock and one format number.
//
// A document is found by its words. A word is a run of letters, digits and combining marks, in lower case, in any
// language. Diacritics count: é is not e. Some scripts are written without spaces, so each of their letters is a word:
// ideographs, Hiragana, Thai, Lao, Khmer and Burmese. A field is the path of an attribute, such as Address.City. The
// elements of a list have the path of the list. Numbers are found by their exact value. Dates and times (RFC 3339, or a
// date alone) are found by the instant.
//
// # Queries
//
//	red shoe                 either word, in any field; more of them, and rarer ones, come first
//	"red shoe"               both words, one after the other
//	sho*                     words that begin so
//	title:shoe               in that field; title:"red shoe", title:sho*
//	+shoe -red               shoe must be there, red must not
//	live:true                a boolean is the word true or false
//	Price:20                 that number, or that word
//	Price:>10 Price:<=99.5   numbers: > >= < <=
//	CreatedAt:2026-01-15     that day in UTC; with a time, that instant
//	CreatedAt:>="2026-01-15" dates and times, likewise
//
// Text of several words, such as x-1, is a phrase. A backslash makes the next character plain text. A quote makes all
// characters until the next quote plain text. Other syntax is an error that names the syntax and its column. These are
// refused: AND, OR, NOT and !, _exists_, brackets, wildcards within a word or in the name of a field, fuzzy words,
// regular expressions and boosts.
package sqlite
