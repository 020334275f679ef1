package worker

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Action is what a worker wants done. Those with a Call are calls, which may run side
// by side: a worker has never two of one lease under way.
type Action interface{ action() }

// Calls of the Streams API.
type (
	// ListStreams asks for a page of a table's streams.
	ListStreams struct {
		Call
		Table, After string
	}

	// DescribeStream asks for a page of a stream's shards.
	DescribeStream struct {
		Call
		Query shardreader.DescribeQuery
	}

	// GetShardIterator asks for an iterator.
	GetShardIterator struct {
		Call
		At shardreader.ShardPosition
	}

	// GetRecords asks for a page of records.
	GetRecords struct {
		Call
		Query shardreader.RecordsQuery
	}
)

// Calls of the lease table.
type (
	// ReadTable reads all leases and members.
	ReadTable struct{ Call }

	// Create adds a lease.
	Create struct {
		Call
		Lease leases.Lease
	}

	// Swap changes a lease.
	Swap struct {
		Call
		Old, Next leases.Lease
	}

	// Delete removes a lease.
	Delete struct {
		Call
		Old leases.Lease
	}

	// Beat writes the worker's own row.
	Beat struct {
		Call
		Member leases.Member
	}

	// Leave removes the row of a worker: its own, or one that is long gone.
	Leave struct {
		Call
		Worker string
	}

	// Begin notes that the leases that the reading of a stream starts with were made.
	Begin struct {
		Call
		Stream string // ARN
	}

	// Reserve takes the right to make one call of a quota. The name of the quota of
	// DescribeStream calls is [DescribeQuota].
	Reserve struct {
		Call
		Quota string
		Seen  int64
	}

	// NoteGap makes a gap durable. The same stream, shard and After again replaces what is noted.
	NoteGap struct {
		Call
		Gap   Gap
		Again bool // it is known, and was told: its end may have changed
	}
)

// DescribeQuota is the quota of DescribeStream calls, which the whole account shares.
const DescribeQuota = "describe-stream"

// What the pipeline is given and told. A partition is one incarnation of a lease:
// when a shard is taken again later, its partition has another name.
type (
	// Deliver hands a page to the pipeline, behind those that it was handed before.
	Deliver struct{ Page *pipeline.Page }

	// Drop takes back the pages of a partition that were not taken. They are as never delivered.
	Drop struct{ Partition string }

	// Drain asks that what is read of a partition is written without waiting for more.
	Drain struct{ Partition string }

	// Forget says that nothing more comes of a partition. It was revoked, or all that was
	// taken of it is acknowledged.
	Forget struct{ Partition string }

	// Revoke takes a partition away: pages of it that were not taken are dropped, and
	// what is under way is given up, with Cause. Nothing of it is acknowledged any more.
	Revoke struct {
		Partition string
		Cause     error
	}
)

// Told to people and to the shell.
type (
	// Tell is a line for people.
	Tell struct {
		Level   slog.Level
		Message string
		Attrs   []slog.Attr
	}

	// AtEnd says that the sources were read to their ends: what was written before Asked, by the worker's own clock, is
	// checkpointed, but for the shards that are Stopped, of whatever consumer, with why, and for what comes after them.
	// The worker goes on.
	AtEnd struct {
		Asked   time.Duration
		Stopped map[string]string
	}

	// Stopped says that a soft stop is complete: nothing is owned, nothing is under way
	// that matters.
	Stopped struct{}
)

// Gap is a part of a shard that nobody read, and nobody can.
type Gap struct {
	Stream string // ARN
	Shard  string // "" where it lies before the stream, between it and the one that was read before
	After  string // sequence number of the last record before it; "" where it is the shard's start
	Before string // sequence number of the first record behind it; "" while that is not known
	Whole  bool   // the rest of the shard is gone, not only its oldest part

	// UnknownExtent: nobody knows whether there was anything to lose. The shard is gone,
	// and it was not read to its end; or it is there, and its parent is gone and was
	// never read to its end by this fleet; or nothing of it was read, it is older than what
	// the stream keeps, and the stream refuses the sequence number that it starts with; or the table had
	// no stream between two that were read.
	UnknownExtent bool

	From, To int64 // creation times of the records beside it, Unix seconds; 0 where they are not known
	Found    int64 // when it was noted, Unix seconds; 0: who keeps it says so
}

func (Call) action()    {}
func (Deliver) action() {}
func (Drop) action()    {}
func (Drain) action()   {}
func (Forget) action()  {}
func (Revoke) action()  {}
func (Tell) action()    {}
func (AtEnd) action()   {}
func (Stopped) action() {}
