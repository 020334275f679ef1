package coordinator

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Action is an output of a coordinator. An action that embeds a Call is a call. Its result is an [Event] with the same
// Call. Calls may run concurrently, because a coordinator never has two writes of one lease in flight.
type Action interface{ action() }

// Calls of the Streams API.
type (
	// ListStreams requests a page of a table's streams.
	ListStreams struct {
		Call
		Table, After string
	}

	// DescribeStream requests a page of a stream's shards.
	DescribeStream struct {
		Call
		Query shardreader.DescribeQuery
	}

	// GetShardIterator requests an iterator.
	GetShardIterator struct {
		Call
		At shardreader.ShardPosition
	}

	// GetRecords requests a page of records.
	GetRecords struct {
		Call
		Query shardreader.RecordsQuery
	}
)

// Calls of the lease table.
type (
	// ReadTable reads all leases and members.
	ReadTable struct{ Call }

	// CreateLease adds a lease.
	CreateLease struct {
		Call
		Lease leases.Lease
	}

	// SwapLease changes a lease.
	SwapLease struct {
		Call
		Old, Next leases.Lease
	}

	// DeleteLease removes a lease.
	DeleteLease struct {
		Call
		Old leases.Lease
	}

	// WriteHeartbeat writes the consumer's own row, which holds its heartbeat.
	WriteHeartbeat struct {
		Call
		Member leases.Member
	}

	// RemoveMember removes the row of this consumer, or of a consumer that is long gone.
	RemoveMember struct {
		Call
		Consumer string
	}

	// MarkBegun stores that the first leases of a stream were created.
	MarkBegun struct {
		Call
		Stream string // ARN
	}

	// ReserveCall takes the right to make one call that counts against a quota, such as [DescribeQuota]. Seen is the
	// quota's count as the coordinator saw it last; -1 if the coordinator has seen no count.
	ReserveCall struct {
		Call
		Quota string
		Seen  int64
	}

	// NoteGap stores a gap, so that the gap is durable. It replaces a stored gap with the same stream, shard and After.
	NoteGap struct {
		Call
		Gap      record.Gap
		WasNoted bool // the gap was stored and logged before, but its end may have changed
	}
)

// DescribeQuota is the name of the quota for DescribeStream calls. The whole account shares this quota.
const DescribeQuota = "describe-stream"

// Actions for the pipeline. A partition is a shard while it is assigned to this consumer. If the shard is assigned
// again later, its partition has another name.
type (
	// Deliver hands a page to the pipeline, after the pages that were delivered before.
	Deliver struct{ Page *pipeline.Page }

	// Drop removes the pages of a partition that the pipeline has not taken, as if they were never delivered.
	Drop struct{ Partition string }

	// Drain requests that the pages of a partition are written without waiting for more pages.
	Drain struct{ Partition string }

	// Forget ends a partition. It comes only after the partition was revoked, or after all pages that the pipeline took
	// were acknowledged.
	Forget struct{ Partition string }

	// Revoke revokes a partition. The pages that the pipeline has not taken are dropped. The partition's writes in
	// flight are cancelled with Cause. No page of the partition is acknowledged after a Revoke.
	Revoke struct {
		Partition string
		Cause     error
	}
)

// Actions for people and for the consumer package.
type (
	// Log is a line for people.
	Log struct {
		Level   slog.Level
		Message string
		Attrs   []slog.Attr
	}

	// AtEnd reports that the sources are read to their ends. All records written before ReadUpTo, by the coordinator's
	// clock, are checkpointed. The exceptions are the stopped shards and their descendants. Stopped maps each stopped
	// shard to the reason. The coordinator continues after AtEnd.
	AtEnd struct {
		ReadUpTo time.Duration
		Stopped  map[string]string
	}

	// Stopped reports that the stop is complete. The consumer reads no shard, and the results of calls in flight do not
	// matter. Its leases are released, or other consumers take them because its heartbeats failed.
	Stopped struct{}
)

func (Call) action()    {}
func (Deliver) action() {}
func (Drop) action()    {}
func (Drain) action()   {}
func (Forget) action()  {}
func (Revoke) action()  {}
func (Log) action()     {}
func (AtEnd) action()   {}
func (Stopped) action() {}
