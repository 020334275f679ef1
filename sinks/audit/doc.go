// Package audit compares the items of a source table with what the sinks that keep state hold of them: views, aggregates
// and search indexes.
//
// What a sink should hold is planned by the pipeline's own planners. A [Sink] yields it as entries, one item at a time,
// and the entries that its store holds. Two entries of one place with one digest are equal. An audit joins the two sides
// and has each candidate looked at again, until item and place stood still: [Sink].Look reads the places of one item with
// their versions, and says what differs. [Sink].Repair writes what should be there, and keeps the version that was read.
//
// Start reading at sink.go and entry.go; open.go makes the sinks. plan.go plans an item, digest.go and group_digest.go make
// digests. rows.go and claims.go compare views, contributions.go and groups.go aggregates, documents.go search sinks.
package audit
