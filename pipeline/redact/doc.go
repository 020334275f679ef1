// Package redact makes the texts of errors for logs. The texts hold no data of items.
//
// A [Class] makes an error with a full text and a redacted one. [LogText] returns the text of any error for a log. Read
// error_class.go, then log_text.go.
package redact
