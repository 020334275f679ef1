// Package policy says which rights a pipeline needs of AWS: IAM statements, named for the
// sink or the place that needs them, with nothing in them that is not called.
//
// It is the one place that knows which calls each store makes. A test runs every store
// and records its calls: what is called and not allowed, and what is allowed and never
// called, both fail it.
package policy
