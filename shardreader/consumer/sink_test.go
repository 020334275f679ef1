package consumer_test

import (
	"context"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// store is what several tasks write to: the newest state of each item, and every
// sequence number by the shard that it came from, in the order of the writes.
type store struct {
	mu       sync.Mutex
	items    map[item.Key]string // canonical image, "" for removed
	versions map[item.Key]record.Version
	seen     map[string]bool // sequence numbers
	writes   int
}

func newStore() *store {
	return &store{items: map[item.Key]string{}, versions: map[item.Key]record.Version{}, seen: map[string]bool{}}
}

// Write keeps changes, as a guarded sink does.
func (s *store) Write(ctx context.Context, ds []pipeline.Delivery) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes += len(ds)
	for i := range ds {
		c := ds[i].Change
		s.seen[c.Sequence] = true
		if v, ok := s.versions[c.Key]; ok && v.Compare(c.Version) >= 0 {
			ds[i].Outcome = pipeline.Superseded
			continue
		}
		s.versions[c.Key] = c.Version
		s.items[c.Key] = ""
		if c.New.Exists() {
			s.items[c.Key] = string(c.New.AppendDynamoDBJSON(nil))
		}
	}
	return nil
}

func (s *store) Guarded() bool { return true }

func (s *store) has(sequence string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[sequence]
}

func (s *store) count() (seen, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen), s.writes
}

// state is the items that are there, in order.
func (s *store) state() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, image := range s.items {
		if image != "" {
			all = append(all, image)
		}
	}
	slices.Sort(all)
	return all
}
