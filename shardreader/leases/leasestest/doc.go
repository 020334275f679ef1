// Package leasestest is the conformance suite of lease tables, and a table in memory
// that fails on demand.
//
// [Run] and [RunLost] hold a table to what [leases.Table] promises. [Table] is for tests of what stands
// on a table: its calls can be refused, delayed, overtaken by another writer, or executed
// with their answer lost, by the test and at its times alone.
package leasestest
