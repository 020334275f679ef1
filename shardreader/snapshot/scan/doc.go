// Package scan reads a table by a parallel, consistent Scan, as a [snapshot.Snapshot] whose parts are the segments.
//
// A consistent Scan shows every write that ended before the request began. Later writes may be shown or not: the pages of
// a scan are of different times. So each item is shown as it was at [Options].Time or later.
//
// DynamoDB's answers are decoded by [record.SnapshotDecoder], like the pages of a stream. The SDK signs, sends and retries
// the requests. Read scan.go first, then reader.go; limiter.go keeps to the read capacity, and pace.go slows
// down if requests are throttled.
package scan
