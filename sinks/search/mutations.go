package search

import "sync"

// mutations is a pool of the slices that Write passes to the store.
type mutations struct{ pool sync.Pool }

// get returns an empty slice with capacity n.
func (m *mutations) get(n int) []Mutation {
	if ms, ok := m.pool.Get().(*[]Mutation); ok && cap(*ms) >= n {
		return *ms
	}
	return make([]Mutation, 0, n)
}

// maxPooled is the largest capacity that the pool keeps.
const maxPooled = 4096

// put returns a slice to the pool, after the store has used it.
func (m *mutations) put(ms []Mutation) {
	if cap(ms) > maxPooled {
		return
	}
	clear(ms)
	ms = ms[:0]
	m.pool.Put(&ms)
}
