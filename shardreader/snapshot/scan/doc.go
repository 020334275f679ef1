// Package scan reads a table with a parallel, consistent Scan, as a [snapshot.Snapshot] whose parts are the segments.
//
// A consistent Scan shows every write that ended before the request began. It may also show later writes, and its pages
// are read at different times. So each item has the state of [Options].Time or later.
//
// [record.SnapshotDecoder] decodes DynamoDB's answers, like the pages of a stream. The SDK signs, sends and retries the
// requests. Read scan.go first, then segment_reader.go. read_unit_limiter.go limits the read capacity, and
// adaptive_pace.go lowers the rate if requests are throttled.
package scan
