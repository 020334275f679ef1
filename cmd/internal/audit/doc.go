// Package audit is the command audit. It compares sinks with their source table, and repairs differences.
//
// command.go has the flags, and opens everything for package sinks/audit/run, which makes the audit. source.go and
// latest_items.go open the items of the table. repair.go is --repair. job.go makes audits for other commands.
package audit
