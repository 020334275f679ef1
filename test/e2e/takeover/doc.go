// Package takeover holds the tests of a pipeline whose reader changes: one lease table that an
// application of Amazon's KCL and `tablewake consume` work on, one after the other, and a stream
// that a Lambda function hands over to `tablewake consume`, and gets back.
package takeover
