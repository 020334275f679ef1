package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// partClaimTime bounds how long a source with nothing left to read waits until it finds that the others have ended.
const partClaimTime = 6 * time.Second

// partMemory stores in this process how far the parts of a backfill are read.
type partMemory struct {
	mu    sync.Mutex
	parts map[string]state.Part
	items map[string]int // number of items that each owner read
}

// Parts implements [snapshot.PartStore].
func (m *partMemory) Parts(context.Context, string) iter.Seq2[state.Part, error] {
	all := m.list()
	return func(yield func(state.Part, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (m *partMemory) list() []state.Part {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []state.Part
	for _, id := range slices.Sorted(maps.Keys(m.parts)) {
		all = append(all, m.parts[id])
	}
	return all
}

// checkShares fails unless each of n owners read at least a quarter of an equal share. In a short run one of the owners
// may start late.
func (m *partMemory) checkShares(owners, items int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	share := items / owners
	for owner, n := range m.items {
		if n < share/4 {
			return fmt.Errorf("%s read %d items, of a share of %d", owner, n, share)
		}
	}
	if len(m.items) < owners {
		return fmt.Errorf("%d processes read items, of %d", len(m.items), owners)
	}
	return nil
}

// SetPart implements [snapshot.PartStore].
func (m *partMemory) SetPart(_ context.Context, expected, next state.Part) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts[next.ID] != expected {
		return false, nil
	}
	if m.parts == nil {
		m.parts, m.items = make(map[string]state.Part), make(map[string]int)
	}
	m.parts[next.ID] = next
	m.items[cmp.Or(next.Owner, expected.Owner)] += int(next.Items - expected.Items)
	return true, nil
}

// partService lets other processes call a partMemory.
type partService struct{ memory *partMemory }

// List returns the parts.
func (s *partService) List(_ struct{}, out *[]state.Part) error {
	*out = s.memory.list()
	return nil
}

// SetPartArgs is the argument of Set.
type SetPartArgs struct{ Was, Now state.Part }

// Set changes a part.
func (s *partService) Set(in SetPartArgs, done *bool) (err error) {
	*done, err = s.memory.SetPart(context.Background(), in.Was, in.Now)
	return err
}

// partClient calls a partService.
type partClient struct{ *rpc.Client }

// Parts implements [snapshot.PartStore].
func (c partClient) Parts(context.Context, string) iter.Seq2[state.Part, error] {
	var all []state.Part
	err := c.Call("Parts.List", struct{}{}, &all)
	return func(yield func(state.Part, error) bool) {
		if err != nil {
			yield(state.Part{}, err)
			return
		}
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// SetPart implements [snapshot.PartStore].
func (c partClient) SetPart(_ context.Context, expected, next state.Part) (done bool, err error) {
	err = c.Call("Parts.Set", SetPartArgs{expected, next}, &done)
	return done, err
}
