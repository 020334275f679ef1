// Package replay reads saved stream records. [Source] is a finite [pipeline.Source] that reads files, folders and
// standard input.
//
// It reads a sequence of JSON documents: records, arrays of records, Lambda events and the output of
// `aws dynamodbstreams get-records`, mixed and in any layout. Files may be compressed with gzip or zstd, whatever their
// names. The memory does not depend on the size of a file: the file is split into blocks of whole records, which the
// pipeline's preparers decode.
//
// A record that cannot be decoded becomes a [record.RecordError] that names file and line, and other records are still
// read. The same holds for broken JSON: reading continues at the next whole record. Other faults end the source with a
// [*BrokenError] instead of io.EOF, after all records were delivered. Some of these faults lose no record. The others
// are text that was not read: the text after a missing end, a record over 64 MiB, a record that the end of the file
// cuts off, the rest of a truncated compressed file, or a file without content. The package pipeline/inputs defines
// what shows that a file is whole.
//
// Source.Read, file.next and documents.next read a block; block.decode decodes it. Read saved_record_source.go,
// input_file.go, json_documents.go and block_decoding.go in this order; broken_text_skip.go and unclosed_brackets.go
// handle broken JSON.
package replay
