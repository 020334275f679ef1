package pipeline

import (
	"bytes"
	"sync"
	"unsafe"
)

// planArena is the memory of a sink's items and plans for one page. It is handed out in pieces, and goes back to its
// pool once no delivery of the page needs it, so that most plans make no garbage.
type planArena struct {
	deliveries []queuedDelivery
	ops        []Op                 // one for each item
	slab       interface{ empty() } // a *slab[T], for Alloc: most plans allocate one type
	pieces     [][]byte             // for Bytes
	used       int                  // pieces that this page uses, from the first
	bytes      []byte               // the piece that is being filled
	text       []byte               // for Text: the piece that is being filled
}

const (
	slabLength        = 32 // values
	maxKeptSlabPieces = 64 // pieces of a slab that are kept for the next page

	firstPieceSize = 4 << 10  // bytes of the first piece; each piece is twice as large as the one before
	maxPieceSize   = 32 << 10 // up to this size
	maxKeptPieces  = 64       // pieces that are kept for the next page
)

// arenaPool is the pool of a route's empty arenas.
type arenaPool struct{ pool sync.Pool }

// get returns an empty arena for n deliveries.
func (s *arenaPool) get(n int) *planArena {
	a, ok := s.pool.Get().(*planArena)
	if !ok {
		a = new(planArena)
	}
	if cap(a.ops) < n {
		a.ops, a.deliveries = make([]Op, n), make([]queuedDelivery, n)
	}
	a.ops, a.deliveries = a.ops[:n], a.deliveries[:n]
	return a
}

// put returns an arena to the pool, once no delivery of its page needs it.
func (s *arenaPool) put(a *planArena) {
	a.empty()
	s.pool.Put(a)
}

// slab holds values of one type, in pieces of slabLength.
type slab[T any] struct {
	pieces [][]T
	used   int // values
}

func (s *slab[T]) next() *T {
	piece := s.used / slabLength
	if piece == len(s.pieces) {
		s.pieces = append(s.pieces, make([]T, slabLength))
	}
	t := &s.pieces[piece][s.used%slabLength]
	s.used++
	return t
}

// empty sets all values to zero, so that none keeps a page in memory.
func (s *slab[T]) empty() {
	for i := 0; i*slabLength < s.used; i++ {
		clear(s.pieces[i][:min(s.used-i*slabLength, slabLength)])
	}
	s.pieces = keepPieces(s.pieces, (s.used+slabLength-1)/slabLength, maxKeptSlabPieces)
	s.used = 0
}

// keepPieces returns the pieces that stay for the next page. used is how many of them this page used, and most is how
// many can stay. It drops half of the unused ones, so that an arena soon shrinks after a large page. Every arena gets a
// large page at some time, and there can be thousands of arenas.
func keepPieces[T any](pieces []T, used, most int) []T {
	n := min((len(pieces)+used+1)/2, most)
	clear(pieces[n:])
	return pieces[:n]
}

// empty removes the plans of a page that no longer needs them.
func (a *planArena) empty() {
	clear(a.ops)
	clear(a.deliveries)
	if cap(a.ops) > min(maxKeptSlabPieces*slabLength, max(slabLength, 4*len(a.ops))) {
		a.ops, a.deliveries = nil, nil
	}
	if a.slab != nil {
		a.slab.empty()
	}
	a.pieces = keepPieces(a.pieces, a.used, maxKeptPieces)
	a.used, a.bytes, a.text = 0, nil, nil
}

// Alloc returns a new zero T, for what a [Planner] puts into d.Ops. Its memory is shared by the deliveries of a page,
// and used again once none of them needs the page. Do not keep it beyond a Write of the delivery, even if that Write
// fails: a delivery that waits long is planned again. Alloc saves nothing if T differs from call to call.
func Alloc[T any](d *Delivery) *T {
	if d.arena == nil {
		return new(T)
	}
	s, ok := d.arena.slab.(*slab[T])
	if !ok {
		s = &slab[T]{}
		d.arena.slab = s
	}
	return s.next()
}

// Bytes returns a copy of b, for what a [Planner] puts into d.Ops. Its memory is shared and used again as for [Alloc].
func (d *Delivery) Bytes(b []byte) []byte {
	a := d.arena
	if a == nil || len(b) > maxPieceSize/8 {
		return bytes.Clone(b)
	}
	if cap(a.bytes)-len(a.bytes) < len(b) {
		a.bytes = a.piece(len(b))
	}
	from := len(a.bytes)
	a.bytes = append(a.bytes, b...)
	return a.bytes[from:len(a.bytes):len(a.bytes)]
}

// piece returns the next piece that has room for n bytes, a new one if there is none.
func (a *planArena) piece(n int) []byte {
	for ; a.used < len(a.pieces); a.used++ {
		if p := a.pieces[a.used]; cap(p) >= n {
			a.used++
			return p
		}
	}
	p := make([]byte, 0, nextPieceSize(a.bytes, n))
	a.pieces, a.used = append(a.pieces, p), a.used+1
	return p
}

func nextPieceSize(before []byte, n int) int {
	return max(firstPieceSize, min(2*cap(before), maxPieceSize), 4*n)
}

// Text returns string(b), for what a [Planner] puts into d.Ops. The texts of a page share memory that is never used
// again, so the string can be kept.
func (d *Delivery) Text(b []byte) string {
	a := d.arena
	if a == nil || len(b) > maxPieceSize/8 {
		return string(b)
	}
	if cap(a.text)-len(a.text) < len(b) {
		a.text = make([]byte, 0, nextPieceSize(a.text, len(b)))
	}
	from := len(a.text)
	a.text = append(a.text, b...)
	return unsafe.String(unsafe.SliceData(a.text[from:]), len(b))
}
