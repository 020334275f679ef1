package pipeline

import (
	"bytes"
	"sync"
	"unsafe"
)

// planArena is the memory of a sink's items and plans for one page. It is handed out in pieces, and goes
// back to its pool once no delivery of the page needs it, so that most plans make no garbage.
type planArena struct {
	items  []queuedDelivery
	ops    []Op                 // one for each item
	slab   interface{ empty() } // a *slab[T], for Alloc: most plans allocate one type
	pieces [][]byte             // for Bytes
	used   int                  // pieces that this page uses, from the first
	bytes  []byte               // the piece that is being filled
	text   []byte               // for Text: the piece that is being filled
}

const (
	slabLength = 32 // values
	mostSlabs  = 64 // pieces of a slab that are kept for the next page

	firstRoom   = 4 << 10  // bytes of the first piece; each piece is twice as large as the one before
	largestRoom = 32 << 10 // up to this size
	mostPieces  = 64       // pieces that are kept for the next page
)

// arenaPool is the pool of a route's empty arenas.
type arenaPool struct{ pool sync.Pool }

// get returns an empty arena for n deliveries.
func (s *arenaPool) get(n int) *planArena {
	r, ok := s.pool.Get().(*planArena)
	if !ok {
		r = new(planArena)
	}
	if cap(r.ops) < n {
		r.ops, r.items = make([]Op, n), make([]queuedDelivery, n)
	}
	r.ops, r.items = r.ops[:n], r.items[:n]
	return r
}

// put returns an arena to the pool, once no delivery of its page needs it.
func (s *arenaPool) put(r *planArena) {
	r.empty()
	s.pool.Put(r)
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
	s.pieces = keep(s.pieces, (s.used+slabLength-1)/slabLength, mostSlabs)
	s.used = 0
}

// keep returns the pieces that stay for the next page. used is how many of them this page used, and most is how
// many can stay. It drops half of the unused ones, so that an arena soon shrinks after a large page. Every arena
// gets a large page at some time, and there can be thousands of arenas.
func keep[T any](pieces []T, used, most int) []T {
	n := min((len(pieces)+used+1)/2, most)
	clear(pieces[n:])
	return pieces[:n]
}

// empty removes the plans of a page that no longer needs them.
func (r *planArena) empty() {
	clear(r.ops)
	clear(r.items)
	if cap(r.ops) > min(mostSlabs*slabLength, max(slabLength, 4*len(r.ops))) {
		r.ops, r.items = nil, nil
	}
	if r.slab != nil {
		r.slab.empty()
	}
	r.pieces = keep(r.pieces, r.used, mostPieces)
	r.used, r.bytes, r.text = 0, nil, nil
}

// Alloc returns a new zero T, for what a [Planner] puts into d.Ops. Its memory is shared by the deliveries of a page,
// and used again once none of them needs the page. Do not keep it beyond a Write of the delivery, even if that
// Write fails: a delivery that waits long is planned again. Alloc saves nothing if T differs from call to call.
func Alloc[T any](d *Delivery) *T {
	if d.room == nil {
		return new(T)
	}
	s, ok := d.room.slab.(*slab[T])
	if !ok {
		s = &slab[T]{}
		d.room.slab = s
	}
	return s.next()
}

// Bytes returns a copy of b, for what a [Planner] puts into d.Ops. Its memory is shared and used again as for [Alloc].
func (d *Delivery) Bytes(b []byte) []byte {
	r := d.room
	if r == nil || len(b) > largestRoom/8 {
		return bytes.Clone(b)
	}
	if cap(r.bytes)-len(r.bytes) < len(b) {
		r.bytes = r.piece(len(b))
	}
	from := len(r.bytes)
	r.bytes = append(r.bytes, b...)
	return r.bytes[from:len(r.bytes):len(r.bytes)]
}

// piece returns the next piece that has room for n bytes, a new one if there is none.
func (r *planArena) piece(n int) []byte {
	for ; r.used < len(r.pieces); r.used++ {
		if p := r.pieces[r.used]; cap(p) >= n {
			r.used++
			return p
		}
	}
	p := make([]byte, 0, nextPieceSize(r.bytes, n))
	r.pieces, r.used = append(r.pieces, p), r.used+1
	return p
}

func nextPieceSize(before []byte, n int) int {
	return max(firstRoom, min(2*cap(before), largestRoom), 4*n)
}

// Text returns string(b), for what a [Planner] puts into d.Ops. The texts of a page share memory that is never
// used again, so the string can be kept.
func (d *Delivery) Text(b []byte) string {
	r := d.room
	if r == nil || len(b) > largestRoom/8 {
		return string(b)
	}
	if cap(r.text)-len(r.text) < len(b) {
		r.text = make([]byte, 0, nextPieceSize(r.text, len(b)))
	}
	from := len(r.text)
	r.text = append(r.text, b...)
	return unsafe.String(unsafe.SliceData(r.text[from:]), len(b))
}
