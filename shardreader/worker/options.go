package worker

import (
	"math/rand/v2"
	"time"
)

// Options shape a worker. All workers of a fleet should have the same, but for
// Worker and Name.
type Options struct {
	Worker  string   // required: unique to the process
	Name    string   // the same over restarts. Default: Worker
	Sources []Source // required
	Start   Start    // of a stream that nobody has read before. Default: from the oldest record
	OnGap   Policy   // Default: Stop

	Lease     time.Duration // how long the beats of a worker may stand still before others take its leases. Default: 6s
	Takeover  time.Duration // the same for owners that have no beats, as of another application: how long their leases must stand still. Default: 30s
	Handover  time.Duration // how long a lease that is asked for is drained before it is handed over as it is. Default: 30s
	Retention time.Duration // how long the stream keeps a record. Default: 24h

	Checkpoint time.Duration // between two checkpoints of a shard. Default: 1s
	ReadEvery  time.Duration // between two looks at leases and members; more with many leases. Default: 500ms
	SyncEvery  time.Duration // between two full listings of a stream, by one worker of the fleet. Default: 5m

	// Idle asks for the end: [AtEnd] comes once nothing was read for this long, and all that the
	// streams have is read and checkpointed, whoever reads it. Default (0): nobody asks.
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

// Start says where a stream is begun that has no leases yet. Whatever it says, a
// shard whose parent was read is read from its oldest record.
type Start struct {
	Latest bool      // at the newest records
	Time   time.Time // at the first record created then or later. Default: at the oldest record

	// Sequences are sequence numbers to start some shards at, by shard id: of the first
	// record to be read. The shards above these are not read, all others as the rest says.
	Sequences map[string]string

	following bool // behind a stream that was read to its end: all of it is to be read
}

// Policy says what becomes of a shard that lost records before they were read.
type Policy uint8

// The policies.
const (
	Stop     Policy = iota // the shard and its descendants are read no further
	Continue               // reading goes on behind the gap
)
