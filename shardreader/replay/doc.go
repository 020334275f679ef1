// Package replay reads saved stream records: a finite [pipeline.Source] over
// files, folders and standard input.
//
// It takes JSON lines (one record or one Lambda event a line), arrays of records,
// Lambda events, the output of `aws dynamodbstreams get-records`, and any of them
// one behind the other; pretty-printed or not; plain, gzip or zstd, told apart by
// content. Memory stays bounded at any size: a file is cut into blocks of whole
// records, which the pipeline's workers decode.
//
// A record that cannot be decoded is a [pipeline.RecordError] that names file and
// line, and costs nothing but itself. Where the grammar of a file breaks so that
// the next record cannot be found, that file is broken from there on: what stands
// before is delivered, the other files are read, and the source ends with a
// [*BrokenError] instead of io.EOF.
package replay
