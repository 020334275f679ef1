// Package audit is the command audit. It compares sinks with the table that they are made of, and repairs what differs.
//
// command.go has the flags and opens everything for package sinks/audit/run, which makes the audit. source.go and latest.go open what
// the table holds, repair.go is --repair.
package audit
