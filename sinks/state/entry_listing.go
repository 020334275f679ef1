package state

import (
	"context"
	"hash/fnv"
	"io"
	"time"
)

// Listing selects a segment of the entries of a store, and limits how fast they are read. The zero Listing reads all
// entries without a limit.
type Listing struct {
	// Segment is the index of the segment to read, from 0. Segments is the number of segments. The segments are
	// disjoint and together have all entries. The key of an entry determines its segment, so listings of other entries
	// or of another store are divided differently. Default of Segments: 1.
	Segment, Segments int

	// Consistent means that the listing has all entries that were written before it began. It costs twice the read
	// units. Default: entries that were written shortly before may be missing. The listings of embedded stores are
	// always consistent.
	Consistent bool

	// Spend is called after each request with the read units that the request used. Several goroutines may call it at
	// once. It blocks until the next request may be sent. An error of Spend ends the listing. Stores that are not
	// billed by units never call it. Default: no limit.
	Spend func(ctx context.Context, units float64) error

	// Throttled is called when a request of the listing was throttled. The request is sent again after wait, until it
	// succeeds or the context ends. Several goroutines may call Throttled at once. Default: a throttled request is
	// repeated a few times, and then the listing fails.
	Throttled func(err error, wait time.Duration)
}

// Check returns an error unless Segment is between 0 and Segments-1.
func (l Listing) Check() error {
	segments := max(l.Segments, 1)
	if l.Segments < 0 || l.Segment < 0 || l.Segment >= segments {
		return errs.Errorf("there is no segment %d of %d: count segments from 0", l.Segment, segments)
	}
	return nil
}

// Has reports whether the entry with a key is in the segment, by a hash of the key. It is for stores that cannot read a
// segment themselves.
func (l Listing) Has(key string) bool {
	if l.Segments <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	sum := h.Sum64() // similar short keys have similar low bits, so mix in the high bits
	return int((sum^sum>>32)%uint64(l.Segments)) == l.Segment
}
