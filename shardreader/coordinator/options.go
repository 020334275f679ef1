package coordinator

import (
	"math/rand/v2"
	"time"
)

// Options configure a coordinator. All consumers of a fleet should have the same options, except ID and Name.
type Options struct {
	ID      string   // required: the consumer id, unique to the process
	Name    string   // stays the same over restarts. Default: ID
	Routes  string   // digest of the sinks that the consumer writes to, for its heartbeat. Default: none
	Sources []Source // required
	Start   Start    // of a stream that was never read. Default: from the oldest record
	OnGap   Policy   // Default: Stop

	Lease     time.Duration // how long a consumer may be without a heartbeat before others take its leases. Default: 6s
	Takeover  time.Duration // the same for owners without heartbeats, as of another application: how long their leases must be unchanged. Default: 30s
	Handover  time.Duration // how long a lease that was requested is drained before it is handed over as it is. Default: 30s
	Retention time.Duration // how long the stream keeps a record. Default: 24h

	Checkpoint time.Duration // between two checkpoints of a shard. Default: 1s
	ReadEvery  time.Duration // between two reads of the lease table; more with many leases. Default: 500ms
	SyncEvery  time.Duration // between two full listings of a stream, by one consumer of the fleet. Default: 5m

	// Idle requests [AtEnd]: it comes once nothing was read for this long, and all records of the
	// streams are read and checkpointed, by whichever consumer. Default (0): it never comes.
	Idle time.Duration

	MaxIdle       time.Duration // longest pause between two polls of an idle shard. Default: 5s
	CallsPerMonth int64         // budget of GetRecords calls of the whole fleet, in 30 days. Default (0): none
	MaxCalls      int           // GetRecords calls at once. Default: 64
	Prefetch      int64         // bytes of pages that were read and not taken by the pipeline; a paused shard's few pages do not count. Default: 64 MiB
	DescribeRate  float64       // DescribeStream calls a second, of the whole fleet. Default: 8, of the service's 10

	Rand *rand.Rand // of jitter. Default: seeded by the runtime
}

// Source is a table, or one stream.
type Source struct {
	Table  string // name. A stream that replaces the table's stream is followed
	Stream string // ARN: this stream alone. Default: the table's
}

// Start is where a stream without leases is begun. A
// shard whose parent was read is always read from its oldest record.
type Start struct {
	Latest bool      // at the newest records
	Time   time.Time // at the first record created then or later. Default: at the oldest record

	// Sequences are sequence numbers to start some shards at, by shard id: of the first
	// record to be read. Their ancestors are not read; all other shards start as the other fields say.
	Sequences map[string]string

	following bool // the stream follows one that was read to its end: all of it is to be read
}

// Policy is what is done with a shard that lost records before they were read.
type Policy uint8

// The policies.
const (
	Stop     Policy = iota // the shard and its descendants are read no further
	Continue               // reading continues after the gap: on_gap: continue, and on_gap: repair
)
