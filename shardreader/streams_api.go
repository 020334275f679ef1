package shardreader

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// API is the DynamoDB Streams API. Every method blocks until the service answers or ctx is done, and is safe for
// concurrent use. Errors are [*Error]. [pipeline.Retryable] reports whether an error is transient; errors.Is finds
// [ErrExpiredIterator], [ErrTrimmed], [ErrNotFound] and [ErrDenied].
type API interface {
	// ListStreams returns one page of the account's streams. If table is not "", it returns only the streams of that
	// table. after is StreamPage.After of the previous page; "" for the first page.
	ListStreams(ctx context.Context, table, after string) (StreamPage, error)

	// DescribeStream returns one page of a stream's shards: at most 100 shards. An account may make 10 calls a second.
	DescribeStream(ctx context.Context, q DescribeQuery) (StreamDescription, error)

	// GetShardIterator returns an iterator at a position of a shard. The iterator is valid for 15 minutes.
	GetShardIterator(ctx context.Context, at ShardPosition) (string, error)

	// GetRecords returns the next page of a shard: at most 1,000 records or 1 MB. If a response broke off, it returns
	// an error and a page with the complete records before the break. The page of a broken response is never Ended, and
	// the caller uses the same iterator again.
	GetRecords(ctx context.Context, q RecordsQuery) (record.GetRecordsPage, error)
}

// StreamPage is one page of ListStreams.
type StreamPage struct {
	Streams []StreamRef
	After   string // argument for the next page; "" on the last page
}

// StreamRef names a stream.
type StreamRef struct {
	ARN   string
	Table string
	Label string // when the stream was enabled, such as 2026-01-02T03:04:05.678; as texts, labels sort by time
}

// StreamFromARN returns the stream whose ARN is arn. If arn is not the ARN of a stream, Table and Label are empty.
func StreamFromARN(arn string) StreamRef {
	_, rest, _ := strings.Cut(arn, ":table/")
	table, label, _ := strings.Cut(rest, "/stream/")
	return StreamRef{ARN: arn, Table: table, Label: label}
}

// DescribeQuery requests one page of a stream's shards.
type DescribeQuery struct {
	StreamARN  string
	After      string // StreamDescription.After of the previous page. Default: from the first shard
	ChildrenOf string // id of a shard: lists only its children. Default: all shards
}

// StreamDescription is one page of DescribeStream.
type StreamDescription struct {
	StreamRef
	Status   StreamStatus
	ViewType record.ViewType
	Created  time.Time // UTC; zero if the service does not report it
	Shards   []Shard
	After    string // DescribeQuery.After for the next page; "" on the last page
}

// StreamStatus is the state of a stream. A disabled stream gets no more records, and stays readable for 24 hours.
type StreamStatus string

// The states of a stream.
const (
	Enabling  StreamStatus = "ENABLING"
	Enabled   StreamStatus = "ENABLED"
	Disabling StreamStatus = "DISABLING"
	Disabled  StreamStatus = "DISABLED"
)

// Shard is one shard of a stream as the service lists it.
type Shard struct {
	ID     string
	Parent string // id of the parent; "" if there is none. An expired parent is no longer listed
	First  string // first sequence number
	Last   string // last sequence number; "" while the shard is open
}

// Open reports whether the shard is listed as open. A shard with a child is closed, even if it is listed as open.
func (s Shard) Open() bool { return s.Last == "" }

// ShardTime returns the creation time of a shard from its id, which holds the time in milliseconds:
// shardId-00000001414576573621-f55eea83. ok is false for ids of another form.
func ShardTime(id string) (at time.Time, ok bool) {
	const prefix, digits = "shardId-", 20
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || len(rest) < digits+1 || rest[digits] != '-' {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(rest[:digits], 10, 64)
	if err != nil || ms < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// IteratorType is the kind of position at which an iterator starts.
type IteratorType string

// The positions that an iterator can start at.
const (
	TrimHorizon   IteratorType = "TRIM_HORIZON"          // at the oldest record left
	Latest        IteratorType = "LATEST"                // after the newest record
	AtSequence    IteratorType = "AT_SEQUENCE_NUMBER"    // at ShardPosition.Sequence
	AfterSequence IteratorType = "AFTER_SEQUENCE_NUMBER" // after ShardPosition.Sequence

	// AtTimestamp is at the first record created at ShardPosition.Time or later. If the stream has dropped records
	// created at that time or later, the iterator is at the oldest record left. The response does not show the loss
	// (API reference, GetShardIterator). The service refuses a time in the future. DynamoDB Local does not know this
	// type, and returns an error that is not transient.
	AtTimestamp IteratorType = "AT_TIMESTAMP"
)

// ShardPosition is a position in a shard, at which an iterator starts.
type ShardPosition struct {
	StreamARN string
	Shard     string
	Type      IteratorType
	Sequence  string    // sequence number of AtSequence and AfterSequence
	Time      time.Time // time of AtTimestamp, with a precision of 1 ms
}

// RecordsQuery requests the next page of a shard.
type RecordsQuery struct {
	Iterator  string
	StreamARN string // stream of the iterator; records do not name it, and the versions of changes depend on it
	Shard     string // shard of the iterator
	Limit     int    // maximum number of records in the page, up to 1,000. Default: the service decides
}
