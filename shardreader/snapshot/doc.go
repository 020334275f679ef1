// Package snapshot reads the items of a table that exists already, as a source of a pipeline.
//
// A [Snapshot] is what an export, a scan or a file of items shows. It consists of parts, which processes read
// independently: a file of an export, a segment of a scan.
package snapshot
