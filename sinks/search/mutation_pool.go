package search

import "sync"

// mutations is a pool of the slices that Write passes to the store.
type mutations struct{ pool sync.Pool }

// get returns an empty slice with capacity n.
func (m *mutations) get(n int) []Mutation {
	if slice, ok := m.pool.Get().(*[]Mutation); ok && cap(*slice) >= n {
		return *slice
	}
	return make([]Mutation, 0, n)
}

// maxPooled is the largest capacity that the pool keeps.
const maxPooled = 4096

// put returns a slice to the pool, after the store has used it.
func (m *mutations) put(slice []Mutation) {
	if cap(slice) > maxPooled {
		return
	}
	clear(slice)
	slice = slice[:0]
	m.pool.Put(&slice)
}
