// Package patterns says the access patterns of a single-table design by configuration, in testdata/patterns.yaml, and
// compares what readers get with what the items of the table say.
package patterns
