// Package opensearch keeps search indexes on an OpenSearch server of version 2.x or 3.x. The server is a domain of
// Amazon OpenSearch Service, a collection of OpenSearch Serverless, or another cluster.
//
// [New] checks the options, [Store.Open] prepares the server, and [Store.Apply] writes mutations in bulk requests. In
// bulk_write.go the order of calls is sendAll, resolve, send, perform, setResult. ensureIndex (ensure_index.go) creates
// an index before its first document. Read store.go, bulk_write.go and ensure_index.go first.
//
// Every document has the version of the change or repair that wrote it. A delete leaves a tombstone document with its
// version. Readers do not see tombstones, because they read through an alias with a filter. So a late write never
// brings back a deleted or replaced document, whichever consumer sends it. This also holds after the server forgot a
// deleted version (index.gc_deletes) and after a restart of the server.
//
// The server decides which of two writes is newer, in one step with the write. There are two modes:
//
//   - [Exact], the default, compares the whole versions in a stored script. The result never depends on the writers,
//     the times or the order of the writes. For the script the server parses the document and formats it again.
//     Integers keep their digits. A decimal that is written as a JSON number (numbers: scaled_float) keeps only the
//     digits of a double.
//   - [Fast] makes the server compare the creation seconds of the changes, as external versions (external_gte). It
//     needs no script. It is for servers that forbid scripts, for OpenSearch Serverless, which cannot store scripts,
//     and for higher throughput. Within one second it keeps only the order of one process. Suppose that two consumers
//     write changes of one item that were made in the same second. The last write stays, even if its change is older.
//     So a consumer that lags, or a replay from the middle of a second, may leave a document as it was earlier in that
//     second. It stays so until the item changes again. The same can happen if a change is redriven alone after later
//     changes of its second were written. A void tombstone (of a change that no document could be made of) may also
//     replace a document of its second.
//
// Applications use the alias as the name of an index. The store creates an index from the configuration ([Indexes]), on
// start or with its first document. It never alters an index. It compares existing indexes with the configuration, and
// returns an error if they differ. Numbers that the configuration does not map are doubles. Otherwise the server would
// map a number to long or float by its first value, and concurrent requests could disagree. A document that does not
// fit the mapping is sent a second time, alone. The store keeps one record of each sink in the hidden index tablewake.
//
// [Store.RepairDocuments] (repair_documents.go) replaces a document that a comparison read. The condition of the write
// is the sequence number of the document in mode exact, and its external version in mode fast.
//
// [Store.Purge] removes tombstones that were written long enough ago. The sink refuses changes that are older than the
// purged tombstones (state.Retention).
package opensearch
