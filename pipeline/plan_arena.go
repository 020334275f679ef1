package pipeline

import (
	"bytes"
	"unsafe"
)

// planArena is the memory of the deliveries and plans of one page for one sink. It returns to its pool once no delivery
// needs the page. So most plans make no garbage.
type planArena struct {
	deliveries []queuedDelivery
	ops        []Op                 // one for each delivery
	count      int                  // deliveries[:count] and ops[:count] are in use
	slab       interface{ empty() } // a *slab[T], for Alloc; only one, as most plans allocate one type
	pieces     [][]byte             // memory of Bytes
	used       int                  // pieces[:used] are in use
	bytes      []byte               // the last piece of Bytes, which has free space
	text       []byte               // the last piece of Text, which has free space
}

const (
	slabLength        = 32 // number of values in a piece of a slab
	maxKeptSlabPieces = 64 // the largest number of a slab's pieces that are kept for the next page

	firstPieceSize = 4 << 10  // bytes of the first piece; each next piece is twice as large
	maxPieceSize   = 32 << 10 // bytes
	maxKeptPieces  = 64       // the largest number of pieces that are kept for the next page

	firstDeliveries   = 32   // number of deliveries that an arena has memory for at first
	maxKeptDeliveries = 2048 // the largest number of deliveries whose memory is kept for the next page
)

// arenaPool is the pool of empty arenas of a route.
type arenaPool struct{ pool[planArena] }

// growDeliveries makes memory for more deliveries, copies ds to it, and returns the copy. ds has the deliveries of the
// changes before index, and changes is the number of the page's changes. The new memory is for the number of deliveries
// that the page is expected to have. A sink often takes few changes of a page, and memory for all of them would exceed
// the memory of the page.
func (a *planArena) growDeliveries(ds []queuedDelivery, index, changes int) []queuedDelivery {
	left := changes - index // these changes are expected to have deliveries as often as those before them
	expected := len(ds) + len(ds)*left/max(index, 1)
	n := min(len(ds)+left, max(firstDeliveries, expected+expected/8))
	a.ops, a.deliveries = make([]Op, n), make([]queuedDelivery, n)
	copy(a.deliveries, ds)
	return a.deliveries[:len(ds)]
}

// put empties an arena and returns it to the pool.
func (s *arenaPool) put(a *planArena) {
	a.empty()
	s.Put(a)
}

// slab has values of one type, in pieces of slabLength values.
type slab[T any] struct {
	pieces [][]T
	used   int // number of values in use
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

// empty zeroes all values that are in use, because they can refer to a page.
func (s *slab[T]) empty() {
	for i := 0; i*slabLength < s.used; i++ {
		clear(s.pieces[i][:min(s.used-i*slabLength, slabLength)])
	}
	s.pieces = keepPieces(s.pieces, (s.used+slabLength-1)/slabLength, maxKeptSlabPieces)
	s.used = 0
}

// keepPieces returns the pieces that are kept for the next page, at most limit. used is the number of pieces that this
// page needed. keepPieces drops half of the unused pieces, so that an arena soon shrinks after a large page. That
// matters because there can be thousands of arenas, and each has a large page at some time.
func keepPieces[T any](pieces []T, used, limit int) []T {
	n := min((len(pieces)+used+1)/2, limit)
	clear(pieces[n:])
	return pieces[:n]
}

// empty removes the deliveries and plans of a page.
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

// Alloc returns a new zero T, for a value that a [Planner] puts into d.Ops. The deliveries of a page share the memory
// of these values. Another page uses the memory once no delivery needs this page. Do not keep the value after a Write
// of the delivery, even if that Write fails: a delivery that waits long is planned again. Alloc saves nothing if T
// differs from call to call.
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

// Bytes returns a copy of b, for a value that a [Planner] puts into d.Ops. The memory of the copy is shared and used
// again like the memory of [Alloc].
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

// piece returns the next free piece with a capacity of at least n bytes. It makes a new piece if there is none.
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

// nextPieceSize returns the size of a new piece for n bytes. before is the previous piece.
func nextPieceSize(before []byte, n int) int {
	return max(firstPieceSize, min(2*cap(before), maxPieceSize), 4*n)
}

// Text returns string(b), for a value that a [Planner] puts into d.Ops. The texts of a page share memory. That memory
// is never overwritten, so the string can be kept.
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
