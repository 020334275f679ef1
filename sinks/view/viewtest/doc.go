// Package viewtest is the conformance suite of view stores. A store that passes keeps the promises of package view.
//
// [Run] checks a store write by write (contract.go, history.go). Then it runs the suite of sinks ([sinktest.Run])
// on several views over the store (views.go, shared_views.go): with keys of each type, moving rows, sparse rows,
// rows that never move, and every attribute type in a row. [RunItems] checks claims (claims.go), [RunGroups] and
// [RunAggregates] check groups (groups.go, aggregate_suite.go), [RunOwners] the owners of rows, and [RunPurge] what
// a store forgets.
package viewtest
