package leases

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// Memory is a [Table] in memory, gone with the process: what it does is what every
// other table must do. Use [NewMemory]. It is safe for concurrent use and starts no goroutines.
type Memory struct {
	mu      sync.Mutex
	leases  map[string]Lease  // by shard
	members map[string]Member // by worker
	quotas  map[string]int64
	begun   map[string]bool // by stream
}

var _ Table = (*Memory)(nil)

// NewMemory is a table with what a snapshot holds.
func NewMemory(s Snapshot) *Memory {
	m := &Memory{leases: make(map[string]Lease), members: make(map[string]Member), quotas: make(map[string]int64), begun: make(map[string]bool)}
	for _, l := range s.Leases {
		m.leases[l.Shard] = l.stored()
	}
	for _, b := range s.Members {
		m.members[b.Worker] = b.stored()
	}
	for _, stream := range s.Begun {
		m.begun[stream] = true
	}
	return m
}

// Read implements [Table]. All of a snapshot is as it was at one time.
func (m *Memory) Read(ctx context.Context) (Snapshot, error) {
	return m.read(ctx, func(s *Snapshot) {
		s.Leases = make([]Lease, 0, len(m.leases))
		for _, l := range m.leases {
			s.Leases = append(s.Leases, l.Clone())
		}
	})
}

// ReadOf is what Read gives, with the leases of some shards alone: those of them that have
// one. It costs nothing for the others.
func (m *Memory) ReadOf(ctx context.Context, shards []string) (Snapshot, error) {
	return m.read(ctx, func(s *Snapshot) {
		for _, shard := range shards {
			if l, ok := m.leases[shard]; ok {
				s.Leases = append(s.Leases, l.Clone())
			}
		}
	})
}

func (m *Memory) read(ctx context.Context, some func(*Snapshot)) (s Snapshot, err error) {
	err = m.do(ctx, func() error {
		some(&s)
		s.Members = make([]Member, 0, len(m.members))
		for _, b := range m.members {
			s.Members = append(s.Members, b.Clone())
		}
		s.Begun = slices.Collect(maps.Keys(m.begun))
		return nil
	})
	s.Sort()
	return s, err
}

// Sort brings what a snapshot holds into its order.
func (s *Snapshot) Sort() {
	slices.SortFunc(s.Leases, func(a, b Lease) int { return strings.Compare(a.Shard, b.Shard) })
	slices.SortFunc(s.Members, func(a, b Member) int { return strings.Compare(a.Worker, b.Worker) })
	slices.Sort(s.Begun)
	slices.SortFunc(s.Broken, func(a, b Broken) int { return strings.Compare(a.Shard, b.Shard) })
}

// Create implements [Table].
func (m *Memory) Create(ctx context.Context, l Lease) error {
	if l.Shard == "" {
		return pipeline.Permanent(errs.New("leases: a lease without a shard"))
	}
	return m.do(ctx, func() error {
		if now, ok := m.leases[l.Shard]; ok {
			return &Conflict{Now: now.Clone()}
		}
		m.leases[l.Shard] = l.stored()
		return nil
	})
}

// Swap implements [Table].
func (m *Memory) Swap(ctx context.Context, old, next Lease) error {
	return m.do(ctx, func() error {
		row, err := m.held(old)
		if err != nil {
			return err
		}
		m.leases[old.Shard] = row.changed(old.stored(), next.stored())
		return nil
	})
}

// Delete implements [Table].
func (m *Memory) Delete(ctx context.Context, old Lease) error {
	return m.do(ctx, func() error {
		_, err := m.held(old)
		if c, ok := AsConflict(err); ok && c.Gone {
			return nil
		}
		if err == nil {
			delete(m.leases, old.Shard)
		}
		return err
	})
}

// Heartbeat implements [Table].
func (m *Memory) Heartbeat(ctx context.Context, b Member) error {
	if b.Worker == "" {
		return pipeline.Permanent(errs.New("leases: a member without a worker"))
	}
	return m.do(ctx, func() error {
		m.members[b.Worker] = b.stored()
		return nil
	})
}

// Leave implements [Table].
func (m *Memory) Leave(ctx context.Context, worker string) error {
	return m.do(ctx, func() error {
		delete(m.members, worker)
		return nil
	})
}

// Begin implements [Table].
func (m *Memory) Begin(ctx context.Context, stream string) error {
	if stream == "" {
		return pipeline.Permanent(errs.New("leases: a stream without a name is begun"))
	}
	return m.do(ctx, func() error {
		m.begun[stream] = true
		return nil
	})
}

// Reserve implements [Table].
func (m *Memory) Reserve(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	err = m.do(ctx, func() error {
		if ok = m.quotas[quota] == seen; ok {
			m.quotas[quota]++
		}
		count = m.quotas[quota]
		return nil
	})
	return count, ok, err
}

func (m *Memory) do(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return pipeline.Transient(context.Cause(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f()
}

// held is the row of a lease that has old's Owner and Counter, or the conflict.
func (m *Memory) held(old Lease) (Lease, error) {
	row, ok := m.leases[old.Shard]
	switch {
	case !ok:
		return Lease{}, &Conflict{Gone: true}
	case row.Owner != old.Owner || row.Counter != old.Counter:
		return Lease{}, &Conflict{Now: row.Clone()}
	}
	return row, nil
}

// changed is a row with what differs between old and next.
func (l Lease) changed(old, next Lease) Lease {
	if !slices.Equal(old.Parents, next.Parents) {
		l.Parents = next.Parents
	}
	if !slices.Equal(old.Children, next.Children) {
		l.Children = next.Children
	}
	if !old.From.Equal(next.From) {
		l.From = next.From
	}
	if !old.Time.Equal(next.Time) || old.Checkpoint != next.Checkpoint {
		l.Time = next.Time
	}
	if old.Stopped != next.Stopped || old.Checkpoint != next.Checkpoint {
		l.Stopped = next.Stopped
	}
	change(&l.Stream, old.Stream, next.Stream)
	change(&l.Owner, old.Owner, next.Owner)
	change(&l.Counter, old.Counter, next.Counter)
	change(&l.Checkpoint, old.Checkpoint, next.Checkpoint)
	change(&l.First, old.First, next.First)
	change(&l.RequestedBy, old.RequestedBy, next.RequestedBy)
	change(&l.Pinned, old.Pinned, next.Pinned)
	change(&l.Load, old.Load, next.Load)
	switch {
	case old.Checkpoint != next.Checkpoint:
		l.Switches = 0
	case old.Owner != "" && next.Owner != "" && old.Owner != next.Owner:
		l.Switches++
	}
	return l
}

func change[T comparable](at *T, old, next T) {
	if old != next {
		*at = next
	}
}
