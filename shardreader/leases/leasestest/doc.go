// Package leasestest is the conformance suite of lease tables, and a table in memory
// that fails on demand.
//
// [Run] and [RunLost] check the contract of [leases.Table]. [Table] is for tests of code that uses
// a table. Hooks of the test can refuse or delay its calls, let another writer go first, or execute a call
// and lose its answer.
package leasestest
