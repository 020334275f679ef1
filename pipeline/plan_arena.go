package pipeline

import (
	"bytes"
	"sync"
	"unsafe"
)

// planArena is the memory of the deliveries and plans of one page for one sink. It returns to its pool once no delivery
// needs the page, so that most plans make no garbage.
type planArena struct {
	deliveries []queuedDelivery
	ops        []Op                 // one for each delivery
	count      int                  // the page uses deliveries[:count] and ops[:count]
	slab       interface{ empty() } // a *slab[T], for Alloc: most plans allocate a single type
	pieces     [][]byte             // memory of Bytes
	used       int                  // the page uses pieces[:used]
	bytes      []byte               // piece of Bytes with free space
	text       []byte               // piece of Text with free space
}

const (
	slabLength        = 32 // values
	maxKeptSlabPieces = 64 // pieces of a slab that can stay for the next page

	firstPieceSize = 4 << 10  // bytes of the first piece; each next one is twice as large
	maxPieceSize   = 32 << 10 // bytes
	maxKeptPieces  = 64       // pieces that can stay for the next page

	firstDeliveries   = 32   // deliveries that an arena has memory for at first
	maxKeptDeliveries = 2048 // deliveries whose memory can stay for the next page
)

// arenaPool is the pool of empty arenas of a route.
type arenaPool struct{ pool sync.Pool }

// get returns an empty arena.
func (s *arenaPool) get() *planArena {
	if a, ok := s.pool.Get().(*planArena); ok {
		return a
	}
	return new(planArena)
}

// growDeliveries makes memory for more deliveries than ds has, which it moves. ds are those of the first index changes
// of a page, which has changes in all. A sink often takes few of them: memory for all would exceed that of the page.
func (a *planArena) growDeliveries(ds []queuedDelivery, index, changes int) []queuedDelivery {
	left := changes - index
	expected := len(ds) + len(ds)*left/max(index, 1)
	n := min(len(ds)+left, max(firstDeliveries, expected+expected/8))
	a.ops, a.deliveries = make([]Op, n), make([]queuedDelivery, n)
	copy(a.deliveries, ds)
	return a.deliveries[:len(ds)]
}

// put empties an arena and returns it to the pool.
func (s *arenaPool) put(a *planArena) {
	a.empty()
	s.pool.Put(a)
}

// slab has values of one type, in pieces of slabLength values.
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

// empty zeroes all values, because they can refer to a page.
func (s *slab[T]) empty() {
	for i := 0; i*slabLength < s.used; i++ {
		clear(s.pieces[i][:min(s.used-i*slabLength, slabLength)])
	}
	s.pieces = keepPieces(s.pieces, (s.used+slabLength-1)/slabLength, maxKeptSlabPieces)
	s.used = 0
}

// keepPieces returns the pieces that stay for the next page: up to limit of them. used is how many this page needed. It
// drops half of the unused pieces, so that an arena soon shrinks after a large page: there can be thousands of arenas,
// and each has a large page at some time.
func keepPieces[T any](pieces []T, used, limit int) []T {
	n := min((len(pieces)+used+1)/2, limit)
	clear(pieces[n:])
	return pieces[:n]
}

// empty removes the plans of a page.
func (a *planArena) empty() {
	clear(a.ops[:a.count])
	clear(a.deliveries[:a.count])
	if len(a.ops) > min(maxKeptDeliveries, max(firstDeliveries, 4*a.count)) {
		a.ops, a.deliveries = nil, nil
	}
	a.count = 0
	if a.slab != nil {
		a.slab.empty()
	}
	a.pieces = keepPieces(a.pieces, a.used, maxKeptPieces)
	a.used, a.bytes, a.text = 0, nil, nil
}

// Alloc returns a new zero T, for what a [Planner] puts into d.Ops. The deliveries of a page share its memory, and
// another page uses it once none of them needs the page. Do not keep it after a Write of the delivery, even if that
// Write fails: a delivery that waits long is planned again. Alloc saves nothing if T differs from call to call.
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

// Bytes returns a copy of b, for what a [Planner] puts into d.Ops. Its memory is shared and used again like that of
// [Alloc].
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

// piece returns the next piece with a capacity of at least n bytes, a new one if there is none.
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

// nextPieceSize returns the size of a new piece for n bytes. before is the piece before it.
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
