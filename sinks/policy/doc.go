// Package policy returns the rights that a pipeline needs in AWS, as IAM statements. A statement is named for the sink
// or the part of the file that needs it. It allows no action that is never called.
//
// Only this package lists the calls of the stores. A test runs every store and records its calls. It fails for a call
// that is not allowed, and for an allowed action that is never called.
package policy
