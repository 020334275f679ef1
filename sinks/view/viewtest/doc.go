// Package viewtest is the conformance suite of view stores. A store that passes keeps the promises of package view.
//
// [Run] checks each kind of write and each kind of read of a store separately (store_contract.go, row_history.go,
// row_reading.go, sharded_partition.go). Then it runs the sink suite ([sinktest.Run]) on several views of the store
// (test_views.go, shared_views.go, element_views.go). These views have keys of each type, rows that move, sparse rows,
// rows that never move, and attributes of every type. [RunItems] checks claims (row_claims.go). [RunItemRows] checks
// items with several rows (item_rows.go). [RunGroups] and [RunAggregates] check groups (group_write.go,
// aggregate_suite.go). [RunOwners] checks the owners of rows, [RunListers] listings, [RunRepairs] repairs, and
// [RunPurge] purges.
package viewtest
