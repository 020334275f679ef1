package linefile

import "crypto/sha256"

// Recent remembers the last ids that were added, up to a number. It is for one
// goroutine at a time.
type Recent struct {
	known map[digest]int // place in the ring
	ring  []digest
	next  int
	limit int
}

type digest [16]byte

// NewRecent remembers up to limit ids, at about 60 bytes each.
func NewRecent(limit int) *Recent {
	return &Recent{known: make(map[digest]int), limit: limit}
}

// Has tells whether id is remembered.
func (r *Recent) Has(id string) bool {
	_, ok := r.known[digestOf(id)]
	return ok
}

// Add remembers id, in place of the oldest when there are too many.
func (r *Recent) Add(id string) {
	d := digestOf(id)
	if _, ok := r.known[d]; ok {
		return
	}
	if len(r.ring) < r.limit {
		r.known[d] = len(r.ring)
		r.ring = append(r.ring, d)
		return
	}
	if old := r.ring[r.next]; r.known[old] == r.next {
		delete(r.known, old)
	}
	r.ring[r.next] = d
	r.known[d] = r.next
	r.next = (r.next + 1) % r.limit
}

// Forget lets go of id. Its place stays taken until its turn comes.
func (r *Recent) Forget(id string) { delete(r.known, digestOf(id)) }

func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:16])
}
