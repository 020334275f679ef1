package streamtest

import (
	"cmp"
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Options configure a server.
type Options struct {
	Decoder record.DecoderOptions // decodes the pages of Server.GetRecords

	PageRecords int  // records per page. Default: 1000
	PageBytes   int  // maximum size of the JSON of a page's records; a page has at least one record. Default: 1 MiB
	PageShards  int  // shards or streams per page. Default: 100
	EmptyPages  int  // number of empty pages before each page with records. Default: 0
	EmptyEnd    bool // the last page of a closed shard is empty. Default: it has records

	IteratorLife time.Duration // Default: 15m
	Retention    time.Duration // retention of records, of closed shards and of disabled streams. Default: 24h
	// StrictTrim refuses a position after a trimmed record, even if the next record is not trimmed. Default: the
	// position is accepted
	StrictTrim bool

	// RefuseBelow refuses GetRecords at a position before the first record of a shard, with TrimmedDataAccessException,
	// although no record was trimmed. DynamoDB Local refuses such a position if other tables were written before the
	// first record of the shard, or while the shard was empty. Default: GetRecords begins at the first record
	RefuseBelow bool

	// NoTimestamps answers AT_TIMESTAMP with InternalFailure, as DynamoDB Local does. Default: AT_TIMESTAMP works as in
	// the service
	NoTimestamps bool

	ListDelay   time.Duration // time until a new child is listed. Default: 0
	CloseDelay  time.Duration // time during which a closed shard is still listed as open. Default: 0
	NewestFirst bool          // shards are listed newest first, children before their parents. Default: oldest first
	ChildFilter ChildFilter   // effect of the filter CHILD_SHARDS of DescribeStream. Default: as in the service

	// DescribePerSecond limits the DescribeStream calls in any one second. More calls fail with LimitExceededException.
	// The service's limit is 10. Default: no limit
	DescribePerSecond int
	// ShardReaders limits the readers ([Server.As]) that call GetRecords of one shard in any one second. More readers
	// get ThrottlingException. The service's limit is 2. Default: no limit
	ShardReaders int

	// Now returns the current time. Default: time.Now
	Now func() time.Time
	// Sleep waits for d, or until ctx is done. It is used for Fault.Delay. Default: a timer of the time package
	Sleep func(ctx context.Context, d time.Duration) error
}

// ChildFilter is the effect of the filter CHILD_SHARDS of DescribeStream.
type ChildFilter uint8

// The kinds of ChildFilter.
const (
	FilterHonoured ChildFilter = iota // the shard's children are listed
	FilterIgnored                     // all shards are listed
	FilterEmpty                       // no shard is listed, as in DynamoDB Local
	FilterRefused                     // the call fails with ValidationException
)

func (o Options) withDefaults() Options {
	o.PageRecords = cmp.Or(max(o.PageRecords, 0), 1000)
	o.PageBytes = cmp.Or(max(o.PageBytes, 0), 1<<20)
	o.PageShards = cmp.Or(max(o.PageShards, 0), 100)
	o.IteratorLife = cmp.Or(max(o.IteratorLife, 0), 15*time.Minute)
	o.Retention = cmp.Or(max(o.Retention, 0), 24*time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = pipeline.Sleep
	}
	return o
}
