// Package record turns the records of a stream into Changes: of the Streams API, of Lambda events, of Kinesis and of
// saved lines.
//
// A [Decoder] returns a [Page] of changes and of the records that are none. Read change.go and decode.go, then
// document.go, record.go and validate.go.
package record
