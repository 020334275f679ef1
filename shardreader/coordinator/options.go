package coordinator

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"time"
)

// Options configure a coordinator. All consumers of a fleet should have the same options, except ID and Name.
type Options struct {
	ID      string   // required: the consumer id, unique to the process
	Name    string   // name that stays the same over restarts. Default: ID
	Routes  string   // digest of the consumer's sinks; heartbeats carry it. Default: none
	Sources []Source // required
	Start   Start    // where to begin a stream that was never read. Default: at the oldest record
	OnGap   Policy   // Default: Stop

	Lease     time.Duration // how long a consumer may be without a heartbeat before others take its leases. Default: 6s
	Retention time.Duration // how long the stream keeps a record. Default: 24h

	Checkpoint time.Duration // time between two checkpoints of a shard. Default: 1s
	ReadEvery  time.Duration // time between two reads of the lease table; longer with many leases. Default: 500ms
	// SyncEvery is the time between two full listings of a stream; one consumer of the fleet makes them. Default: 5m
	SyncEvery time.Duration

	// Idle requests [AtEnd]. AtEnd comes once this consumer read nothing for this long, and the fleet has read and
	// checkpointed all records of the streams. Default (0): AtEnd never comes.
	Idle time.Duration

	MaxIdle       time.Duration // longest pause between two polls of an idle shard. Default: 5s
	CallsPerMonth int64         // budget of GetRecords calls of the whole fleet, in 30 days. Default (0): no limit
	MaxCalls      int           // maximum number of GetShardIterator and GetRecords calls in flight. Default: 64
	// Prefetch is the maximum size, in bytes, of the pages that the pipeline has not taken. Pages of paused shards do
	// not count. Default: 64 MiB
	Prefetch     int64
	DescribeRate float64 // maximum DescribeStream calls a second of the whole fleet. Default: 8; the service allows 10

	Rand *rand.Rand // source of jitter. Default: seeded by the runtime
}

// check returns an error for the first option that is missing or out of range.
func (o *Options) check() error {
	switch {
	case o.ID == "":
		return errors.New("coordinator: Options.ID is empty")
	case len(o.Sources) == 0:
		return errors.New("coordinator: Options.Sources is empty: name a table or a stream")
	case o.Lease < 0 || o.Retention < 0 || o.Checkpoint < 0 || o.ReadEvery < 0 ||
		o.SyncEvery < 0 || o.MaxIdle < 0 || o.Idle < 0:
		return errors.New(
			"coordinator: Options.Lease, Retention, Checkpoint, ReadEvery, SyncEvery, MaxIdle and Idle must not be negative")
	case o.CallsPerMonth < 0 || o.MaxCalls < 0 || o.Prefetch < 0 || o.DescribeRate < 0:
		return errors.New("coordinator: Options.CallsPerMonth, MaxCalls, Prefetch and DescribeRate must not be negative")
	}
	for _, s := range o.Sources {
		if (s.Table == "") == (s.Stream == "") {
			return errors.New("coordinator: each of Options.Sources names either a table or a stream")
		}
	}
	return nil
}

// withDefaults returns the options with the defaults of those that are not set.
func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, o.ID)
	o.Lease = cmp.Or(o.Lease, 6*time.Second)
	o.Retention = cmp.Or(o.Retention, 24*time.Hour)
	o.Checkpoint = cmp.Or(o.Checkpoint, time.Second)
	o.ReadEvery = cmp.Or(o.ReadEvery, 500*time.Millisecond)
	o.SyncEvery = cmp.Or(o.SyncEvery, 5*time.Minute)
	o.MaxIdle = cmp.Or(o.MaxIdle, 5*time.Second)
	o.MaxCalls = cmp.Or(o.MaxCalls, 64)
	o.Prefetch = cmp.Or(o.Prefetch, 64<<20)
	o.DescribeRate = cmp.Or(o.DescribeRate, 8)
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return o
}

// Source is a table, or one stream.
type Source struct {
	Table  string // name of the table. A stream that replaces the table's stream is read next
	Stream string // ARN of the only stream to read; "" if Table is set
}

// Start is the position at which the reading of a stream without leases begins. A shard whose parent was read is
// always read from its oldest record.
type Start struct {
	Latest bool      // begin at the newest records
	Time   time.Time // begin at the first record created at this time or later. Default: begin at the oldest record

	// Sequences maps the ids of some shards to the sequence number of the first record to read. The ancestors of
	// these shards are not read. Other shards start as the other fields say.
	Sequences map[string]string

	following bool // an earlier stream of the table was read to its end: this stream is read from its oldest record
}

// Policy is the reaction to a gap: records of a shard that were lost before they were read.
type Policy uint8

// The policies.
const (
	Stop     Policy = iota // the shard and its descendants are read no further
	Continue               // reading continues after the gap: on_gap: continue, and on_gap: repair
)
