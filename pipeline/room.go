package pipeline

import (
	"bytes"
	"unsafe"
)

// room is where a sink's Plan makes what it plans for the deliveries of one page: in
// pieces for many of them, and in no piece with another page's, so that what is kept of
// a delivery keeps no page alive but its own.
type room struct {
	slab any    // *slab[T]: a Plan makes one type mostly
	free []byte // room for bytes to come
}

type slab[T any] struct{ free []T }

const (
	slabLength = 32 // values

	firstRoom   = 4 << 10 // bytes, doubled from piece to piece
	largestRoom = 32 << 10
)

// Alloc is new(T), for what a [Planner] puts into d.Ops: it comes out of memory that
// the deliveries of a page share. Where T changes from call to call it saves nothing.
func Alloc[T any](d *Delivery) *T {
	if d.room == nil {
		return new(T)
	}
	s, ok := d.room.slab.(*slab[T])
	if !ok {
		s = &slab[T]{}
		d.room.slab = s
	}
	if len(s.free) == 0 {
		s.free = make([]T, slabLength)
	}
	t := &s.free[0]
	s.free = s.free[1:]
	return t
}

// Bytes is bytes.Clone(b), for what a [Planner] puts into d.Ops, likewise.
func (d *Delivery) Bytes(b []byte) []byte {
	r := d.room
	if r == nil || len(b) > largestRoom/8 {
		return bytes.Clone(b)
	}
	if cap(r.free)-len(r.free) < len(b) {
		r.free = make([]byte, 0, max(firstRoom, min(2*cap(r.free), largestRoom), 4*len(b)))
	}
	from := len(r.free)
	r.free = append(r.free, b...)
	return r.free[from:len(r.free):len(r.free)]
}

// Text is string(b), likewise.
func (d *Delivery) Text(b []byte) string {
	own := d.Bytes(b)
	return unsafe.String(unsafe.SliceData(own), len(own))
}
