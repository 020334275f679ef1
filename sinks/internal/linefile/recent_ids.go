package linefile

import "crypto/sha256"

// Recent remembers the ids that were added last. It is for one goroutine at a time.
type Recent struct {
	indexes map[digest]int // index in ring of each remembered id
	ring    []digest
	next    int // index in ring of the oldest id, which the next id replaces once ring has limit ids
	limit   int // maximum number of ids
}

type digest [16]byte

// NewRecent returns a Recent that remembers up to limit ids. An id takes about 60 bytes.
func NewRecent(limit int) *Recent {
	return &Recent{indexes: make(map[digest]int), limit: limit}
}

// Has reports whether id is remembered.
func (r *Recent) Has(id string) bool {
	_, ok := r.indexes[digestOf(id)]
	return ok
}

// Add remembers id. If limit ids are remembered already, id replaces the oldest of them.
func (r *Recent) Add(id string) {
	d := digestOf(id)
	if _, ok := r.indexes[d]; ok {
		return
	}
	if len(r.ring) < r.limit {
		r.indexes[d] = len(r.ring)
		r.ring = append(r.ring, d)
		return
	}
	if old := r.ring[r.next]; r.indexes[old] == r.next { // old was not forgotten
		delete(r.indexes, old)
	}
	r.ring[r.next] = d
	r.indexes[d] = r.next
	r.next = (r.next + 1) % r.limit
}

// Forget forgets id. The id still counts for the limit until it would be the oldest.
func (r *Recent) Forget(id string) { delete(r.indexes, digestOf(id)) }

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:16])
}
