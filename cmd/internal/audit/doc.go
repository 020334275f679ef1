// Package audit is the command audit. It compares sinks with the table that they are made of, and repairs what differs.
//
// An audit reads what the items of the table should come to, and what the sinks hold, into a spool: files that are joined
// one by one, so that memory is bounded. What differs is suspect. The judge looks at each suspect until the item and its
// places stood still for longer than the consumers are behind; what differs then goes into the report. Progress is saved
// in a folder beside the report: the same command goes on with an audit that was interrupted.
//
// Read command.go first, then audit.go, which goes through the phases: items.go and sinks.go spool, join.go compares,
// judge.go looks again. source.go opens what the table holds.
package audit
