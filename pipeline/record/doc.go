// Package record decodes the records of a stream into Changes. It reads answers of the Streams API, Lambda events,
// Kinesis events and saved lines. It also decodes the items of a table: lines of exports and answers of Scan.
//
// A [Decoder] returns a [Page] with the changes, and with the errors of the records that could not be decoded.
// [Decoder.Decode] calls readInput, which calls readRecord for each record. readRecord calls tryRecord, which calls
// readChange: readRecordFields reads the fields, and validate checks the fields together. addChange adds the record to
// the page. If the record is invalid, addInvalid adds its error and its key, if the key can be read.
//
// A [SnapshotDecoder] shares readRecord. Its readLineFields replaces readRecordFields, and its completeLine replaces
// validate. A snapshot is an export or a scan of a table. Each change of a snapshot is older than all records of its
// item.
//
// Read change.go, page.go and record_decoder.go, then record_document.go, record_reader.go and record_validation.go,
// then snapshot_decoder.go. field_prediction.go predicts a record from the previous one. Only speed depends on this
// prediction.
package record
