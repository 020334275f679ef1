package local

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Dir is the folder of all stores. Its methods return the path of each store.
type Dir string

// Views returns the path of the SQLite file of all view tables and search indexes.
func (d Dir) Views() string { return filepath.Join(string(d), "views.db") }

// Witness returns the path of the witness file. The witness shows whether views.db is the file that belongs to this
// folder, and not another file or an older copy.
func (d Dir) Witness() string { return filepath.Join(string(d), "views.witness") }

// Archives returns the folder that has the folders of all buckets.
func (d Dir) Archives() string { return filepath.Join(string(d), "archive") }

// Archive returns the folder for the objects of a bucket.
func (d Dir) Archive(bucket string) string { return filepath.Join(d.Archives(), fileName(bucket)) }

// EventFiles returns the folder with the files of events.
func (d Dir) EventFiles() string { return filepath.Join(string(d), "events") }

// Events returns the path of the file with the events of a notify sink. The file has JSON lines.
func (d Dir) Events(sink string) string {
	return filepath.Join(d.EventFiles(), fileName(sink)+".jsonl")
}

// DeadLetters returns the folder of dead letters.
func (d Dir) DeadLetters() string { return filepath.Join(string(d), "dead") }

// fileName escapes a name to one segment of a path. It does not change a name of a valid configuration.
func fileName(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		return strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
