// Package opensearch keeps search indexes on an OpenSearch server: a domain of
// Amazon OpenSearch Service, a collection of OpenSearch Serverless, or a cluster of
// one's own, of version 2.x or 3.x.
//
// Every document carries the version of the change that wrote it, and a delete
// leaves a tombstone document with its version, which readers do not see because
// they read through an alias that filters it. So no write that comes late, from
// whatever worker, brings back what was deleted or replaced: not after
// index.gc_deletes, not after a restart of the server.
//
// Which of two writes is newer is decided on the server, in one step with the
// write, in one of two ways:
//
//   - [Exact], the default, compares the whole versions, by a stored script. Its
//     result never depends on who wrote, when or in which order. The server reads the
//     document anew for it: integers keep their digits, and a decimal that is written as
//     a JSON number (numbers: scaled_float) those of a double.
//   - [Fast] lets the server compare the creation seconds of the changes, by its own
//     external versions (external_gte). It needs no script, and is for servers that
//     forbid scripts, for OpenSearch Serverless, which stores none, and for
//     those who need the throughput. Within one second it keeps the order of one
//     process only: where two workers write changes of one item that were made in the
//     same second, the one that comes last stays, be it the older. So a worker that
//     lags, or a replay from the middle of a second, may leave an item's document as it
//     was earlier in that second, until the item changes again. So may a change that is redriven
//     alone when later ones of its second were written; and what is void is not told from
//     what is whole: of one second the last one stays, be it a void that comes again.
//
// An application names an index by the alias; the store writes behind it. An index is
// made of the configuration ([Indexes]), on start or with its first document, and
// never altered: what is there is compared with what the configuration asks for, and a
// difference is an error. Numbers of which the configuration says nothing are doubles there,
// since concurrent requests would make longs and floats of them, each by its own first value;
// a document that the server says does not fit is sent once more, alone. The store keeps one record of each sink, in the hidden index
// tablewake.
//
// Tombstones stay until [Store.Purge] removes those that were written long enough ago;
// a change from before that is refused by the sink (state.Retention). The sequence is
// then New, Open, Apply, and Purge from time to time.
package opensearch
