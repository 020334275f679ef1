package search

import "sync"

// mutations are what Writes have handed to the store, for Writes to come: a batch of
// them is as large as the documents' keys and versions together.
type mutations struct{ pool sync.Pool }

// get is an empty slice with room for n.
func (m *mutations) get(n int) []Mutation {
	if ms, ok := m.pool.Get().(*[]Mutation); ok && cap(*ms) >= n {
		return *ms
	}
	return make([]Mutation, 0, n)
}

// mostKept bounds what is kept.
const mostKept = 4096

// put takes back what the store has done with.
func (m *mutations) put(ms []Mutation) {
	if cap(ms) > mostKept {
		return
	}
	clear(ms)
	ms = ms[:0]
	m.pool.Put(&ms)
}
