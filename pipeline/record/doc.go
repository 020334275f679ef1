// Package record decodes the records of a stream into Changes. It reads the Streams API, Lambda events, Kinesis events and
// saved lines. It decodes the items of a table, too: lines of exports and answers of Scan.
//
// A [Decoder] returns a [Page] with changes and with the records that could not be decoded. [Decoder.Decode] calls document,
// which calls readRecord for each record. readRecord calls readChange: object reads the fields, validate checks them
// together. addChange or reject then adds the record to the page.
//
// A [SnapshotDecoder] shares readRecord: lineFields reads the line or the item instead of object, and validateLine checks
// it instead of validate. Each such change is older than all records of its item.
//
// Read change.go and decode.go, then document.go, record.go and validate.go, then snapshot.go. previous_fields.go predicts a record from the
// one before; only speed depends on it.
package record
