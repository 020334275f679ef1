package leases

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// Member is the row of one consumer. The consumer writes it with every heartbeat; the other consumers and `status` read
// it. The tags define the JSON of leases/file, which writes the maps itself.
type Member struct {
	ID string `json:"worker"` // consumer id, unique to the process
	// Name stays the same over restarts; Lease.Pinned refers to it. Default: ID
	Name      string `json:"name,omitempty"`
	Heartbeat int64  `json:"beat"` // number of the heartbeat; rises by 1 with each heartbeat

	Leaving       bool    `json:"leaving,omitempty"` // the consumer releases its leases, and takes none
	LeaseCount    int     `json:"leases"`            // number of leases that the consumer owns, without ended leases
	Load          float64 `json:"load"`              // recent bytes per second
	CallsPerMonth float64 `json:"calls"`             // GetRecords calls a month, at the recent rate
	Pending       int64   `json:"pending"`           // number of records read that are not durable in every sink

	// AtEndHeartbeat is the number of an earlier heartbeat. The consumer has read and checkpointed all records that its
	// shards had before that heartbeat. 0 means unknown.
	AtEndHeartbeat int64 `json:"at_end,omitempty"`

	// BusyShards lists the shards that the consumer has not read and checkpointed to their ends, at most 200.
	BusyShards []string `json:"busy,omitempty"`
	// QuietHeartbeat is like AtEndHeartbeat, but for the shards that are not in BusyShards.
	QuietHeartbeat int64 `json:"quiet,omitempty"`

	// RoutesDigest is a digest of the sinks that the consumer writes to. A backfill begins only if every live consumer
	// has the digest of the backfill's configuration. A consumer with an older configuration would acknowledge changes
	// that the new sink misses.
	RoutesDigest string `json:"routes,omitempty"`

	// Behind maps shards to the creation time of the last record read; zero if no record was read. It has the shards
	// whose newest record the consumer may not have read. If there are more than 200, it has the shards with the oldest
	// times. All other shards of the consumer are read up to their newest record.
	Behind map[string]time.Time `json:"-"`

	// Stopped maps each shard that the consumer stopped reading to the reason. A table may store only the first 1,000
	// shards by name, and only the beginning of a reason.
	Stopped map[string]string `json:"-"`

	// Failing has the shards whose reads fail and are retried. If there are more than 200, it has the shards that have
	// failed for the longest time.
	Failing map[string]ReadFailure `json:"-"`
}

// ReadFailure describes a shard that cannot be read. All calls since the time Since have failed.
type ReadFailure struct {
	Since time.Time `json:"since"`
	Class string    `json:"class"` // class of the last error
}

// Clone returns a deep copy of m.
func (m Member) Clone() Member {
	m.Behind, m.Stopped, m.Failing = maps.Clone(m.Behind), maps.Clone(m.Stopped), maps.Clone(m.Failing)
	m.BusyShards = slices.Clone(m.BusyShards)
	return m
}

// Equal reports whether m and n are stored as the same row: times to the second.
func (m Member) Equal(n Member) bool { return reflect.DeepEqual(m.storedForm(), n.storedForm()) }

// storedForm returns m with the precision that every table stores.
func (m Member) storedForm() Member {
	m = m.Clone()
	m.Load, m.CallsPerMonth = storableNumber(m.Load), storableNumber(m.CallsPerMonth)
	for shard, t := range m.Behind {
		m.Behind[shard] = toSecond(t)
	}
	for shard, f := range m.Failing {
		m.Failing[shard] = ReadFailure{toSecond(f.Since), f.Class}
	}
	m.Behind, m.Failing, m.Stopped = nilIfEmpty(m.Behind), nilIfEmpty(m.Failing), nilIfEmpty(m.Stopped)
	if len(m.BusyShards) == 0 {
		m.BusyShards = nil
	}
	return m
}

func nilIfEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}
