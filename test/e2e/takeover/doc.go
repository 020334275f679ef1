// Package takeover holds the test of one lease table that an application of Amazon's KCL
// and `tablewake consume` work on, one after the other.
package takeover
