// Package leasestest has the conformance suite of lease tables, and a table in memory that fails on demand.
//
// [Run] and [RunLostAnswers] check the contract of [leases.Table]. [Table] is for tests of code that uses a table. The
// hooks of a test can refuse or delay calls, change a row before a call, or execute a call and lose its answer.
package leasestest
