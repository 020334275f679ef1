// Package replay reads saved stream records. [Source] is a finite [pipeline.Source] over
// files, folders and standard input.
//
// It reads a stream of JSON documents: records, arrays of records, Lambda events and the output of
// `aws dynamodbstreams get-records`, mixed and in any layout. Files may be plain, gzip or zstd; the content
// decides. Memory is bounded at any size: a file is cut into blocks of whole records, which the
// pipeline's preparers decode.
//
// A record that cannot be decoded becomes a [record.RecordError] that names file and
// line, and costs no other record. The same holds for broken JSON: reading continues at the next
// whole record. Faults without a lost record, and text that was not read (a missing end,
// a record over 64 MiB, a cut archive), are in the [*BrokenError] that ends the source
// instead of io.EOF, after all records were delivered.
//
// A block is read by Source.Read, file.next and documents.next, and decoded by block.decode. Read source.go,
// file.go, documents.go and page.go in this order; resume.go and brackets.go handle broken JSON.
package replay
