package leases

import (
	"maps"
	"time"
)

// Member is a worker, as it tells the others of itself. Tags are those of a file's rows, which end with the maps.
type Member struct {
	Worker    string `json:"worker"`         // unique to the process
	Name      string `json:"name,omitempty"` // the same over restarts: what Lease.Pinned names. Default: Worker
	Heartbeat int64  `json:"beat"`           // rises with every beat

	Leaving bool    `json:"leaving,omitempty"` // it hands over what it has, and takes nothing more
	Leases  int     `json:"leases"`            // that it owns and that have not ended
	Load    float64 `json:"load"`              // bytes a second that it read of late
	Calls   float64 `json:"calls"`             // GetRecords calls a month at the rate of late
	Pending int64   `json:"pending"`           // records read and not yet durable everywhere

	// AtEnd is a beat: all that was written to its shards before that beat was is read, and its
	// checkpoints are written. 0: it cannot say so.
	AtEnd int64 `json:"at_end,omitempty"`

	// Behind are shards whose newest record it has not read yet, as far as it
	// knows, with the creation time of the last one read: at most 200, the
	// oldest. What is not among them is read up to its newest record.
	Behind map[string]time.Time `json:"-"`

	// Stopped are shards that it reads no further, with why. A table may keep only the
	// first 1,000 by name, and the beginning of why.
	Stopped map[string]string `json:"-"`

	// Failing are shards whose reads fail for a while, and are tried again: at most 200, the longest.
	Failing map[string]ReadFailure `json:"-"`
}

// ReadFailure is since when all calls that read a shard fail.
type ReadFailure struct {
	Since time.Time `json:"since"`
	Class string    `json:"class"` // of the last error
}

// Clone is a member that shares nothing with m.
func (m Member) Clone() Member {
	m.Behind, m.Stopped, m.Failing = maps.Clone(m.Behind), maps.Clone(m.Stopped), maps.Clone(m.Failing)
	return m
}

// Equal tells whether m and n are the same, times to the second.
func (m Member) Equal(n Member) bool {
	m, n = m.stored(), n.stored()
	behind := maps.EqualFunc(m.Behind, n.Behind, time.Time.Equal)
	return behind && maps.Equal(m.Stopped, n.Stopped) && maps.Equal(m.Failing, n.Failing) &&
		m.Worker == n.Worker && m.Name == n.Name && m.Heartbeat == n.Heartbeat && m.Leaving == n.Leaving &&
		m.Leases == n.Leases && m.Load == n.Load && m.Calls == n.Calls && m.Pending == n.Pending && m.AtEnd == n.AtEnd
}

// stored is m as a table keeps it.
func (m Member) stored() Member {
	m = m.Clone()
	m.Load, m.Calls = finite(m.Load), finite(m.Calls)
	for shard, t := range m.Behind {
		m.Behind[shard] = second(t)
	}
	for shard, f := range m.Failing {
		m.Failing[shard] = ReadFailure{second(f.Since), f.Class}
	}
	if len(m.Behind) == 0 {
		m.Behind = nil
	}
	if len(m.Failing) == 0 {
		m.Failing = nil
	}
	if len(m.Stopped) == 0 {
		m.Stopped = nil
	}
	return m
}
