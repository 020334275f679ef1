// Package audit compares the items of a source table with the contents of the sinks that keep state: views, aggregates
// and search indexes.
//
// The pipeline's own planners plan the required contents of a sink. A [Sink] yields them as entries, one item at a
// time, and also yields the entries that its store holds. Two entries of one place with one digest are equal. An audit
// joins the two sides. It looks at each candidate again until the item and the place stopped changing: [Sink].Compare
// reads the places of one item with their versions, and returns the differences. [Sink].Repair writes the required
// entry, and keeps the version that was read.
//
// Start reading at sink.go and entry.go; open.go makes the sinks. plan.go plans an item, digest.go and group_digest.go
// make digests. rows.go and claims.go compare views, contributions.go and groups.go aggregates, documents.go search
// sinks.
package audit
