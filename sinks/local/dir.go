package local

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Dir is a folder of stores: where in it each kind is.
type Dir string

// Views is the SQLite file of all view tables and search indexes.
func (d Dir) Views() string { return filepath.Join(string(d), "views.db") }

// Witness is the file that tells views.db from another one, or from an older copy.
func (d Dir) Witness() string { return filepath.Join(string(d), "views.witness") }

// Archive is the folder of a bucket's objects.
func (d Dir) Archive(bucket string) string {
	return filepath.Join(string(d), "archive", fileName(bucket))
}

// Events is the file of what a notify sink sent, JSON lines.
func (d Dir) Events(sink string) string {
	return filepath.Join(string(d), "events", fileName(sink)+".jsonl")
}

// DeadLetters is the folder of what could not be delivered.
func (d Dir) DeadLetters() string { return filepath.Join(string(d), "dead") }

// fileName is a name as one segment of a path: names of a checked configuration
// stay as they are.
func fileName(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		return strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
