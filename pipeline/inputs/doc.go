// Package inputs lists and decompresses the files that sources and commands read, and recognizes a file that is not
// whole. A file that was cut, is empty or is damaged is never read as a whole one:
//
//   - Compressed data is whole if the trailer of its format is there and fits. [Decompress] checks that.
//   - Text is whole if its last JSON value is closed ([CheckEnd]); a file that ends within a value was cut. A file that
//     was cut between two lines looks whole. Only a source that knows the content in advance recognizes it: an export
//     by the MD5 and the counts of its manifest, and an object of an archive by the digest in its name.
//   - A file without any content is a file of nothing ([ErrEmpty]), because it may have been cut at its start. An array
//     or an event without records is whole, and says that there are none.
//   - A file in a folder that has no records may be a damaged one. If no file may be missing (a backfill, an audit, a
//     replay with --rebuild), it is an error. Any other replay leaves it out, and tells of it. But if its name says
//     JSON and it has none, or if it is an empty .json file, it is damaged, and an error too.
//
// What a reader does with a file that is not whole depends on what follows. A replay delivers what can be read, and
// then fails. A backfill does the same, and its sinks do not become live. Items are checked before the first one is
// written. A sample takes the whole values.
package inputs
