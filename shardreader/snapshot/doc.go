// Package snapshot reads the items of a table that exists already, as a source of a pipeline.
//
// A [Snapshot] is the content of an export, a scan or a file of items. It consists of parts, which processes read
// independently: a part is a file of an export, or a segment of a scan. Package export reads exports of DynamoDB,
// package scan reads the table itself, and package items reads files of items.
//
// A [Source] reads the parts that its process claims. Several processes with one state share the parts:
//
//   - A process claims a part with a conditional write of the owner (claim_parts.go). The owner renews the claim, and
//     stores with it the position up to which all items are written (claimed_part.go). If a claim is not renewed for
//     the claim time, another process takes the part over. That process measures the time with its own clock.
//   - So the work of a process that was killed is repeated from the last stored position, and nothing is lost. Two
//     processes may temporarily read the same part. Versions make that harmless: writing an item twice changes nothing.
//   - A part is done when all of its items are written and its file was verified. If a part cannot be read, the other
//     parts are read first. Then the run ends with the error of that part.
package snapshot
