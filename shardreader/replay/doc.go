// Package replay reads saved stream records: a finite [pipeline.Source] over
// files, folders and standard input.
//
// It takes records, arrays of records, Lambda events and the output of
// `aws dynamodbstreams get-records`, in any sequence, as a stream of JSON documents is read:
// compact, indented, one a line or several; plain, gzip or zstd, told apart by content.
// Memory stays bounded at any size: a file is cut into blocks of whole records, which the
// pipeline's workers decode.
//
// A record that cannot be decoded is a [record.RecordError] that names file and
// line, and costs nothing but itself. So is text whose grammar is broken: reading goes on
// at the next whole record. What costs no record, or was not read at all (a missing end,
// a record over 64 MiB, a cut archive), is in the [*BrokenError] that the source
// ends with instead of io.EOF, when all else is delivered.
package replay
