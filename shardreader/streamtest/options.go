package streamtest

import (
	"cmp"
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Options shape a server.
type Options struct {
	Decoder record.DecoderOptions // of the pages that Server.GetRecords returns

	PageRecords int  // records a page. Default: 1000
	PageBytes   int  // bytes of JSON of a page's records; a page has one at least. Default: 1 MiB
	PageShards  int  // shards and streams a page. Default: 100
	EmptyPages  int  // pages that come empty before each page with records. Default: 0
	EmptyEnd    bool // the last page of a closed shard comes empty. Default: its records come together with the end

	IteratorLife time.Duration // Default: 15m
	Retention    time.Duration // of records, of closed shards and of disabled streams. Default: 24h
	StrictTrim   bool          // a position at a trimmed record is refused though nothing behind it is missing. Default: given

	// RefuseBelow answers GetRecords at a position below the oldest record of a shard with
	// TrimmedDataAccessException, though nothing was trimmed: as DynamoDB Local does where other tables
	// were written between. A shard then starts below its first record, and so does every position
	// that was taken while it was empty. Default: such a position is at the first record
	RefuseBelow bool

	ListDelay   time.Duration // until a new child is listed. Default: 0
	CloseDelay  time.Duration // for which a closed shard is still listed as open. Default: 0
	NewestFirst bool          // shards are listed newest first, children before their parents. Default: oldest first
	ChildFilter ChildFilter   // how DescribeStream takes the filter CHILD_SHARDS. Default: as the service does

	// DescribePerSecond bounds the DescribeStream calls in any one second; those
	// beyond fail with LimitExceededException. The service's bound is 10. Default: none
	DescribePerSecond int
	// ShardReaders bounds the readers ([Server.As]) that call GetRecords of one
	// shard in any one second; those beyond fail with ThrottlingException. The
	// service's bound is 2. Default: none
	ShardReaders int

	// Now tells the time. Default: time.Now
	Now func() time.Time
	// Sleep waits for d, or until ctx is done: for Fault.Delay. Default: a timer of the time package
	Sleep func(ctx context.Context, d time.Duration) error
}

// ChildFilter is what becomes of the filter CHILD_SHARDS of DescribeStream.
type ChildFilter uint8

// The ways to take it.
const (
	FilterHonoured ChildFilter = iota // the shard's children are listed
	FilterIgnored                     // all shards are listed
	FilterEmpty                       // nothing is listed, as by DynamoDB Local
	FilterRefused                     // ValidationException
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
