// Package run compares sinks with their source table.
//
// An audit reads what the items of the table should come to, and what the sinks hold, into a spool: files that are
// joined one by one, so that memory is bounded. What differs is suspect. The recheck looks at each suspect until the
// item and its places stood still for longer than the consumers are behind; what differs then goes into the report.
// Progress is saved in a folder beside the report: the same command goes on with an audit that was interrupted.
//
// Read audit.go first, which goes through the phases: spool_items.go and spool_stored.go spool, join_entries.go
// compares, recheck.go looks again. table.go opens the table.
package run
