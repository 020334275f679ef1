package leases

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// Memory is a [Table] in memory. It is the reference for every other table, and leases/file uses it. Create one with
// [NewMemory]. It is safe for concurrent use and starts no goroutines.
type Memory struct {
	mu           sync.Mutex
	leases       map[string]Lease  // by shard
	members      map[string]Member // by ID
	quotas       map[string]int64  // count by name
	begunStreams map[string]bool   // by ARN of the stream
}

var _ Table = (*Memory)(nil)

// NewMemory returns a table with the leases, members and begun streams of s.
func NewMemory(s Snapshot) *Memory {
	m := &Memory{leases: make(map[string]Lease), members: make(map[string]Member), quotas: make(map[string]int64),
		begunStreams: make(map[string]bool)}
	for _, l := range s.Leases {
		m.leases[l.Shard] = l.storedForm()
	}
	for _, member := range s.Members {
		m.members[member.ID] = member.storedForm()
	}
	for _, stream := range s.BegunStreams {
		m.begunStreams[stream] = true
	}
	return m
}

// Read implements [Table]. Its snapshot is atomic; other tables do not guarantee that.
func (m *Memory) Read(ctx context.Context) (Snapshot, error) {
	return m.read(ctx, func(s *Snapshot) {
		s.Leases = make([]Lease, 0, len(m.leases))
		for _, l := range m.leases {
			s.Leases = append(s.Leases, l.Clone())
		}
	})
}

// ReadShards returns the same as Read, but only the leases of these shards. Shards without a lease are skipped. The
// cost does not depend on the number of other leases.
func (m *Memory) ReadShards(ctx context.Context, shards []string) (Snapshot, error) {
	return m.read(ctx, func(s *Snapshot) {
		for _, shard := range shards {
			if l, ok := m.leases[shard]; ok {
				s.Leases = append(s.Leases, l.Clone())
			}
		}
	})
}

// read returns a snapshot. addLeases adds the leases, and is called under the lock.
func (m *Memory) read(ctx context.Context, addLeases func(*Snapshot)) (s Snapshot, err error) {
	err = m.withLock(ctx, func() error {
		addLeases(&s)
		s.Members = make([]Member, 0, len(m.members))
		for _, member := range m.members {
			s.Members = append(s.Members, member.Clone())
		}
		s.BegunStreams = slices.Collect(maps.Keys(m.begunStreams))
		return nil
	})
	s.Sort()
	return s, err
}

// Create implements [Table].
func (m *Memory) Create(ctx context.Context, l Lease) error {
	if l.Shard == "" {
		return pipeline.Permanent(errs.New("leases: a lease without a shard"))
	}
	return m.withLock(ctx, func() error {
		if existing, ok := m.leases[l.Shard]; ok {
			return &Conflict{Current: existing.Clone()}
		}
		m.leases[l.Shard] = l.storedForm()
		return nil
	})
}

// Swap implements [Table].
func (m *Memory) Swap(ctx context.Context, old, next Lease) error {
	return m.withLock(ctx, func() error {
		row, err := m.match(old)
		if err != nil {
			return err
		}
		m.leases[old.Shard] = row.merge(old.storedForm(), next.storedForm())
		return nil
	})
}

// Delete implements [Table].
func (m *Memory) Delete(ctx context.Context, old Lease) error {
	return m.withLock(ctx, func() error {
		if _, exists := m.leases[old.Shard]; !exists {
			return nil
		}
		if _, err := m.match(old); err != nil {
			return err
		}
		delete(m.leases, old.Shard)
		return nil
	})
}

// Heartbeat implements [Table].
func (m *Memory) Heartbeat(ctx context.Context, member Member) error {
	if member.ID == "" {
		return pipeline.Permanent(errs.New("leases: a member without an ID"))
	}
	return m.withLock(ctx, func() error {
		m.members[member.ID] = member.storedForm()
		return nil
	})
}

// RemoveMember implements [Table].
func (m *Memory) RemoveMember(ctx context.Context, consumer string) error {
	return m.withLock(ctx, func() error {
		delete(m.members, consumer)
		return nil
	})
}

// MarkBegun implements [Table].
func (m *Memory) MarkBegun(ctx context.Context, stream string) error {
	if stream == "" {
		return pipeline.Permanent(errs.New("leases: a stream without a name is begun"))
	}
	return m.withLock(ctx, func() error {
		m.begunStreams[stream] = true
		return nil
	})
}

// ReserveCall implements [Table].
func (m *Memory) ReserveCall(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	err = m.withLock(ctx, func() error {
		ok = m.quotas[quota] == seen
		if ok {
			m.quotas[quota]++
		}
		count = m.quotas[quota]
		return nil
	})
	return count, ok, err
}

// withLock calls f under the lock, unless ctx is done.
func (m *Memory) withLock(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return pipeline.Transient(context.Cause(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f()
}

// match returns the row of old's shard. If the row does not have old's Owner and Counter, the error is a *Conflict.
func (m *Memory) match(old Lease) (Lease, error) {
	row, ok := m.leases[old.Shard]
	switch {
	case !ok:
		return Lease{}, &Conflict{Missing: true}
	case row.Owner != old.Owner || row.Counter != old.Counter:
		return Lease{}, &Conflict{Current: row.Clone()}
	}
	return row, nil
}

// merge copies to l each field in which next differs from old. The other fields of l stay: another writer may have
// changed them.
func (l Lease) merge(old, next Lease) Lease {
	setIfChanged(&l.Stream, old.Stream, next.Stream)
	setIfChanged(&l.Owner, old.Owner, next.Owner)
	setIfChanged(&l.Counter, old.Counter, next.Counter)
	setIfChanged(&l.Checkpoint, old.Checkpoint, next.Checkpoint)
	setIfChanged(&l.First, old.First, next.First)
	setIfChanged(&l.RequestedBy, old.RequestedBy, next.RequestedBy)
	setIfChanged(&l.Pinned, old.Pinned, next.Pinned)
	setIfChanged(&l.Load, old.Load, next.Load)
	if !slices.Equal(old.Parents, next.Parents) {
		l.Parents = next.Parents
	}
	if !slices.Equal(old.Children, next.Children) {
		l.Children = next.Children
	}
	if !old.From.Equal(next.From) {
		l.From = next.From
	}

	// Time and Stopped belong to the checkpoint. With a new checkpoint they are copied even if they are the same in old
	// and next: the values in l belong to the former checkpoint.
	hasNewCheckpoint := old.Checkpoint != next.Checkpoint
	if hasNewCheckpoint || !old.Time.Equal(next.Time) {
		l.Time = next.Time
	}
	if hasNewCheckpoint || old.Stopped != next.Stopped {
		l.Stopped = next.Stopped
	}
	changesOwner := old.Owner != "" && next.Owner != "" && old.Owner != next.Owner
	switch {
	case hasNewCheckpoint:
		l.Switches = 0
	case changesOwner:
		l.Switches++
	}
	return l
}

// setIfChanged sets a field to next if next differs from old.
func setIfChanged[T comparable](field *T, old, next T) {
	if old != next {
		*field = next
	}
}
