// Package redact makes texts of errors that hold no data of items, for logs.
//
// An error that a [Class] makes has a whole text and a redacted one; [LogText] returns what a log shows of any error.
// Read class.go, then logtext.go.
package redact
