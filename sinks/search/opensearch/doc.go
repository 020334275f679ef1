// Package opensearch keeps search indexes on an OpenSearch server: a domain of
// Amazon OpenSearch Service, a collection of OpenSearch Serverless, or another
// cluster, of version 2.x or 3.x.
//
// [New] checks the options, [Store.Open] prepares the server, and [Store.Apply] writes mutations in
// bulk requests (bulk.go): rounds, resolve, send, perform, setResult. ensureIndex (ensure_index.go) creates an
// index before its first document. Read store.go, bulk.go and ensure_index.go first.
//
// Every document has the version of the change that wrote it. A delete
// leaves a tombstone document with its version. Readers do not see tombstones, because
// they read through an alias with a filter. So no late write of any consumer
// brings back a deleted or replaced document, even after
// index.gc_deletes or a restart of the server.
//
// The server decides which of two writes is newer, in one step with the
// write, in one of two modes:
//
//   - [Exact], the default, compares the whole versions in a stored script. Its
//     result never depends on the writers, the times or the order of the writes. The server parses the
//     document again for it: integers keep their digits, but a decimal that is written as
//     a JSON number (numbers: scaled_float) has those of a double.
//   - [Fast] makes the server compare the creation seconds of the changes, as
//     external versions (external_gte). It needs no script. It is for servers that
//     forbid scripts, for OpenSearch Serverless, which stores none, and for
//     higher throughput. Within one second it keeps the order of one
//     process only. If two consumers write changes of one item that were made in the
//     same second, the last write stays, even if it is the older change. So a consumer that
//     lags, or a replay from the middle of a second, may leave a document as it
//     was earlier in that second, until the item changes again. The same holds for a change that is
//     redriven alone after later changes of its second were written, and a void tombstone may replace a
//     document of its second.
//
// Applications use the alias as the name of an index. The store creates an index from the
// configuration ([Indexes]), on start or with its first document, and
// never alters it. It compares existing indexes with the configuration, and a
// difference is an error. Numbers that the configuration does not map are doubles,
// since concurrent requests would otherwise map them to long or float by their first value.
// A document that does not fit the mapping is sent a second time, alone. The store keeps one record of
// each sink in the hidden index tablewake.
//
// [Store.RepairDocuments] (repair.go) replaces what a comparison read, at the same version: on condition of its
// sequence number in mode exact, and of its external version in mode fast.
//
// [Store.Purge] removes tombstones that were written long enough ago. The sink refuses
// changes from before that (state.Retention).
package opensearch
