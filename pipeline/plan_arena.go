package pipeline

import (
	"bytes"
	"sync"
	"unsafe"
)

// planArena is the memory of a sink's plans for the deliveries of one page, handed out in pieces. Another page
// uses it again once no delivery of its page needs it, so that most plans make no garbage.
type planArena struct {
	ops    []Op                 // one of each delivery
	slab   interface{ empty() } // *slab[T]: a Plan makes one type mostly
	pieces [][]byte             // of Bytes
	used   int                  // pieces
	bytes  []byte               // the last of them that is used
	text   []byte               // room for texts to come
}

const (
	slabLength = 32 // values
	mostSlabs  = 64 // that are kept for a page to come

	firstRoom   = 4 << 10 // bytes, doubled from piece to piece
	largestRoom = 32 << 10
	mostPieces  = 64 // that are kept
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
		r.ops = make([]Op, n)
	}
	r.ops = r.ops[:n]
	return r
}

// put returns an arena to the pool, once no delivery of its page needs it.
func (s *arenaPool) put(r *planArena) {
	r.empty()
	s.pool.Put(r)
}

// slab are values of one type.
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

// empty makes all values zero: they hold no page.
func (s *slab[T]) empty() {
	for i := 0; i*slabLength < s.used; i++ {
		clear(s.pieces[i][:min(s.used-i*slabLength, slabLength)])
	}
	s.pieces = keep(s.pieces, (s.used+slabLength-1)/slabLength, mostSlabs)
	s.used = 0
}

// keep returns the pieces that stay for the next page; this page used n of them. It drops half of the others, so
// that an arena soon shrinks after a large page. Every arena gets a large page at some time, and there can be
// thousands.
func keep[T any](pieces []T, used, most int) []T {
	n := min((len(pieces)+used+1)/2, most)
	clear(pieces[n:])
	return pieces[:n]
}

// empty takes out what was made for a page that needs it no more.
func (r *planArena) empty() {
	clear(r.ops)
	if cap(r.ops) > min(mostSlabs*slabLength, max(slabLength, 4*len(r.ops))) {
		r.ops = nil
	}
	if r.slab != nil {
		r.slab.empty()
	}
	r.pieces = keep(r.pieces, r.used, mostPieces)
	r.used, r.bytes, r.text = 0, nil, nil
}

// Alloc is new(T), for what a [Planner] puts into d.Ops: it comes out of memory that
// the deliveries of a page share, and is used again once none of them holds the page.
// Nothing of it may be kept beyond a Write of the delivery, also of one that fails: where a
// delivery waits long for its next one, it is planned again. Where T changes from call to
// call it saves nothing.
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

// Bytes is bytes.Clone(b), for what a [Planner] puts into d.Ops, likewise.
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

// piece is the next one with room for n bytes.
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

// Text is string(b), for what a [Planner] puts into d.Ops: in memory that the page's texts
// share. It is a text like any other, and may be kept.
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
