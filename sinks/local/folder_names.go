package local

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Dir is a folder of stores. Its methods return the path of each store.
type Dir string

// Views returns the path of the SQLite file of all view tables and search indexes.
func (d Dir) Views() string { return filepath.Join(string(d), "views.db") }

// Witness returns the path of the file that distinguishes views.db from another one and from an older copy.
func (d Dir) Witness() string { return filepath.Join(string(d), "views.witness") }

// Archive returns the folder of a bucket's objects.
func (d Dir) Archive(bucket string) string {
	return filepath.Join(string(d), "archive", fileName(bucket))
}

// Events returns the path of a notify sink's events, a file of JSON lines.
func (d Dir) Events(sink string) string {
	return filepath.Join(string(d), "events", fileName(sink)+".jsonl")
}

// DeadLetters returns the folder of dead letters.
func (d Dir) DeadLetters() string { return filepath.Join(string(d), "dead") }

// fileName escapes a name to one segment of a path. Names of a valid configuration stay as they are.
func fileName(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		return strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
