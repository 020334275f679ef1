// Package run compares sinks with their source table.
//
// An audit reads the entries that the items of the table require, and the entries that the sinks hold. It writes both
// into a spool: files that it then joins one by one, so that memory is bounded. An item or a place that differs is a
// suspect. The recheck compares each suspect again until its item and its places have stayed the same for longer than
// the lag of the consumers. For this, it waits between two rounds until the consumers have processed every change that
// was made before. A suspect that still differs goes into the report.
//
// The audit saves its progress in a folder beside the report. If an audit is interrupted, the same command continues
// it.
//
// Read audit.go first: it runs the phases. required_entry_spool.go and stored_entry_spool.go write the spool, and
// entry_join.go joins the required with the stored entries. suspect_recheck.go compares the suspects again in rounds,
// each suspect by a check (suspect_check.go). finding_repair.go repairs what differs. source_table.go opens the table.
package run
