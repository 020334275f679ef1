package search

import "sync"

// mutationPool is a pool of the slices that Write passes to the store.
type mutationPool struct{ pool sync.Pool }

// get returns an empty slice with capacity n.
func (p *mutationPool) get(n int) []Mutation {
	if slice, ok := p.pool.Get().(*[]Mutation); ok && cap(*slice) >= n {
		return *slice
	}
	return make([]Mutation, 0, n)
}

// maxPooled is the largest capacity that the pool keeps.
const maxPooled = 4096

// put returns a slice to the pool, after the store has used it.
func (p *mutationPool) put(slice []Mutation) {
	if cap(slice) > maxPooled {
		return
	}
	clear(slice)
	slice = slice[:0]
	p.pool.Put(&slice)
}
