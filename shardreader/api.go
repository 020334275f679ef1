package shardreader

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// API is the part of the DynamoDB Streams API that reading needs. Every method
// blocks until the service answered or ctx is done, and may be called by several
// goroutines. Errors are [*Error]: [pipeline.Retryable] tells the transient ones,
// and errors.Is finds [ErrExpiredIterator], [ErrTrimmed], [ErrNotFound] and [ErrDenied].
type API interface {
	// ListStreams is one page of the account's streams, of one table where table
	// is not "". after is the After of the page before, "" for the first.
	ListStreams(ctx context.Context, table, after string) (StreamPage, error)

	// DescribeStream is one page of a stream's shards (at most 100 a page,
	// 10 calls a second an account).
	DescribeStream(ctx context.Context, q DescribeQuery) (StreamDescription, error)

	// GetShardIterator is an iterator at a position of a shard. It lives 15 minutes.
	GetShardIterator(ctx context.Context, at ShardPosition) (string, error)

	// GetRecords is the next page of a shard (at most 1,000 records or 1 MB). With
	// an error the answer may hold the records that came whole before the answer
	// broke; it is never Ended then, and the same iterator is to be used again.
	GetRecords(ctx context.Context, q RecordsQuery) (record.GetRecordsPage, error)
}

// StreamPage is one page of ListStreams.
type StreamPage struct {
	Streams []StreamRef
	After   string // "" on the last page
}

// StreamRef names a stream.
type StreamRef struct {
	ARN   string
	Table string
	Label string // when the stream was enabled: 2026-01-02T03:04:05.678, so text order is time order
}

// StreamOf is the stream of an ARN; one that names none has no Table and no Label.
func StreamFromARN(arn string) StreamRef {
	_, rest, _ := strings.Cut(arn, ":table/")
	table, label, _ := strings.Cut(rest, "/stream/")
	return StreamRef{ARN: arn, Table: table, Label: label}
}

// DescribeQuery asks for one page of a stream's shards.
type DescribeQuery struct {
	StreamARN  string
	After      string // the After of the page before. Default: from the first shard
	ChildrenOf string // only the children of this shard. Default: all shards
}

// StreamDescription is one page of DescribeStream.
type StreamDescription struct {
	StreamRef
	Status   StreamStatus
	ViewType record.ViewType
	Created  time.Time // UTC; zero where the service does not say
	Shards   []Shard
	After    string // "" on the last page
}

// StreamStatus says whether a stream still grows. A disabled stream stays readable for 24 hours.
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
	Parent string // "" where it has none; a parent may have expired and be listed no more
	First  string // sequence number at which it starts
	Last   string // sequence number at which it ended; "" while it is open
}

// Open tells whether the shard is listed as open. A shard that has a child is
// closed whatever its listing says.
func (s Shard) Open() bool { return s.Last == "" }

// ShardTime is when a shard was made, by the milliseconds in its id: shardId-00000001414576573621-f55eea83.
// ok is false for an id of another form.
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

// IteratorType says where in a shard an iterator starts.
type IteratorType string

// The positions that an iterator can start at.
const (
	TrimHorizon   IteratorType = "TRIM_HORIZON"          // the oldest record that is left
	Latest        IteratorType = "LATEST"                // behind the newest record
	AtSequence    IteratorType = "AT_SEQUENCE_NUMBER"    // at ShardPosition.Sequence
	AfterSequence IteratorType = "AFTER_SEQUENCE_NUMBER" // behind ShardPosition.Sequence
)

// ShardPosition is a place in a shard.
type ShardPosition struct {
	StreamARN string
	Shard     string
	Type      IteratorType
	Sequence  string // of AtSequence and AfterSequence
}

// RecordsQuery asks for the next page of a shard.
type RecordsQuery struct {
	Iterator  string
	StreamARN string // of the iterator's stream: records of the Streams API do not name it, and their versions need it
	Shard     string // of the iterator
	Limit     int    // records, at most 1,000. Default: what the service gives
}
