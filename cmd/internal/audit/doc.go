// Package audit is the command audit. It compares sinks with their source table, and repairs differences.
//
// command.go has the flags, and opens everything for package sinks/audit/run, which makes the audit. item_source.go and
// latest_items.go open the items of the table. report_repair.go is --repair. audit_job.go makes audits for other
// commands.
package audit
