package pipeline

import "unsafe"

// room is where a sink's Plan makes what it plans for the deliveries of one page: in
// pieces for many of them, and in no piece with another page's, so that what is kept of
// a delivery keeps no page alive but its own.
type room struct {
	slab any    // *slab[T]: a Plan makes one type mostly
	text []byte // room for texts to come
}

type slab[T any] struct{ free []T }

const (
	slabLength = 32      // values
	textRoom   = 4 << 10 // bytes
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

// Text is string(b), for what a [Planner] puts into d.Ops, likewise.
func (d *Delivery) Text(b []byte) string {
	r := d.room
	if r == nil || len(b) > textRoom/8 {
		return string(b)
	}
	if cap(r.text)-len(r.text) < len(b) {
		r.text = make([]byte, 0, textRoom)
	}
	from := len(r.text)
	r.text = append(r.text, b...)
	return unsafe.String(unsafe.SliceData(r.text[from:]), len(b))
}
