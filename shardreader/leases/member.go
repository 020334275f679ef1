package leases

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// Member is the row of one consumer, which it writes with every heartbeat. The other consumers and `status` read it.
// The tags are the JSON of leases/file, which writes the maps itself.
type Member struct {
	Worker    string `json:"worker"`         // consumer id, unique to the process
	Name      string `json:"name,omitempty"` // stays the same over restarts; Lease.Pinned names it. Default: Worker
	Heartbeat int64  `json:"beat"`           // number of the heartbeat; rises by each

	Leaving bool    `json:"leaving,omitempty"` // it releases its leases, and takes none
	Leases  int     `json:"leases"`            // number of leases that it owns, without ended ones
	Load    float64 `json:"load"`              // recent bytes per second
	Calls   float64 `json:"calls"`             // GetRecords calls a month, at the recent rate
	Pending int64   `json:"pending"`           // records read and not yet durable everywhere

	// AtEnd is the number of an earlier heartbeat. The consumer has read everything that its shards got
	// before that heartbeat, and has written the checkpoints. 0 means unknown.
	AtEnd int64 `json:"at_end,omitempty"`

	// Busy has the shards that the consumer has not read and checkpointed to their ends: at most 200. All its other shards
	// are read and checkpointed up to what they got before heartbeat Quiet, the number of an earlier heartbeat. 0 means
	// unknown.
	Busy  []string `json:"busy,omitempty"`
	Quiet int64    `json:"quiet,omitempty"`

	// Routes is a digest of the sinks that the consumer writes to. A backfill begins only if every live consumer
	// has the digest of its file: one with an older file would acknowledge changes that the new sink misses.
	Routes string `json:"routes,omitempty"`

	// Behind maps shards to the creation time of the last record read; the zero time if none was read.
	// It has the shards whose newest record the consumer has not reached, as far as it knows: at most 200,
	// the oldest first. All its other shards are read up to their newest record.
	Behind map[string]time.Time `json:"-"`

	// Stopped maps shards that the consumer stopped reading to the reason. A table may store only the
	// first 1,000 by name, and only the beginning of a reason.
	Stopped map[string]string `json:"-"`

	// Failing has shards whose reads fail and are retried: at most 200, those that fail longest.
	Failing map[string]ReadFailure `json:"-"`
}

// ReadFailure describes a shard that cannot be read: all calls since Since failed.
type ReadFailure struct {
	Since time.Time `json:"since"`
	Class string    `json:"class"` // class of the last error
}

// Clone returns a deep copy of m.
func (m Member) Clone() Member {
	m.Behind, m.Stopped, m.Failing, m.Busy = maps.Clone(m.Behind), maps.Clone(m.Stopped), maps.Clone(m.Failing), slices.Clone(m.Busy)
	return m
}

// Equal reports whether m and n are stored as the same row: times to the second.
func (m Member) Equal(n Member) bool { return reflect.DeepEqual(m.stored(), n.stored()) }

// stored returns m with the precision that every table stores.
func (m Member) stored() Member {
	m = m.Clone()
	m.Load, m.Calls = storable(m.Load), storable(m.Calls)
	for shard, t := range m.Behind {
		m.Behind[shard] = toSecond(t)
	}
	for shard, f := range m.Failing {
		m.Failing[shard] = ReadFailure{toSecond(f.Since), f.Class}
	}
	m.Behind, m.Failing, m.Stopped = nilIfEmpty(m.Behind), nilIfEmpty(m.Failing), nilIfEmpty(m.Stopped)
	if len(m.Busy) == 0 {
		m.Busy = nil
	}
	return m
}

func nilIfEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}
