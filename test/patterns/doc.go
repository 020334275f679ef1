// Package patterns expresses the access patterns of a single-table design by configuration, in testdata/patterns.yaml,
// and compares the readers' results with those that follow from the items of the table.
package patterns
