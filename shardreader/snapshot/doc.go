// Package snapshot reads the items of a table that exists already, as a source of a pipeline.
//
// A [Snapshot] is what an export, a scan or a file of items shows. It consists of parts, which processes read
// independently: a file of an export, a segment of a scan. Package export has exports of DynamoDB, package scan has the
// table itself, and package items has files of items.
//
// A [Source] reads the parts that its process claims. Several processes with one state share the parts:
//
//   - A part is claimed by a conditional write of its owner (claim.go). The owner renews the claim, and stores with it up
//     to which position everything is written (claimed_part.go). A claim that is not renewed for the claim time is taken
//     over, by the clock of the process that takes it.
//   - So the work of a process that was killed is repeated from the last stored position, and nothing is lost. Two
//     processes may read one part for a while. Versions make that harmless: an item that is written twice is the same.
//   - A part is done when all its items are written and its file was verified. A part that cannot be read fails alone:
//     the other parts are read first, and then the run ends with its error.
package snapshot
