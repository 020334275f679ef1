// Package sqlite keeps the documents of search indexes in one SQLite file, and finds them by
// its FTS5.
//
// A write that [Store.Apply] reports as written survives a killed process and a power failure: a call is one
// transaction, synced before it returns. The check of a document's version and its write are in that transaction. The
// file also has the views and the state (package sinks/state/sqlite), with one writer, one lock and one format.
//
// A document is found by its words: letters, marks and digits in lower case, whatever the language,
// with their diacritics. Ideographs, Hiragana, and the letters of Thai, Lao, Khmer and Burmese,
// which are written without spaces, are words by themselves. A field is the path of an attribute,
// Address.City; the elements of a list share its path. Numbers are found by their exact value,
// dates and times (RFC 3339, or a date alone) by the instant.
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
// Text of several words, such as x-1, is a phrase. A backslash makes the next character plain text, and a quote all
// characters until the next quote. Other syntax is refused by its name and column: AND, OR, NOT and !, _exists_,
// brackets, wildcards within a word or in the name of a field, fuzzy words, regular expressions and boosts.
package sqlite
