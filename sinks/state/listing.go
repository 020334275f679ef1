package state

import (
	"context"
	"hash/fnv"
	"io"
	"time"
)

// Listing selects a part of what a store holds, and bounds how fast it is read. The zero Listing reads everything
// without a bound.
type Listing struct {
	// The part is segment Segment, from 0, of Segments disjoint parts, which are everything together. An entry is in
	// the segment of its own key, so a listing of other entries, or of another store, divides differently. Default of
	// Segments: 1.
	Segment, Segments int

	// Consistent has everything seen that was written before the listing began, at twice the price. Default: what was
	// written a moment ago may be missing. Embedded stores always see it.
	Consistent bool

	// Spend is called after each request with the read units that it used, by several goroutines at once. It waits as
	// long as the next request must. Its error ends the listing. Stores that are not billed by units never call it.
	// Default: no bound.
	Spend func(ctx context.Context, units float64) error

	// Throttled is called if a request of the listing was throttled, before it is sent again after a wait, by several
	// goroutines at once. Such a request is repeated until it succeeds or the context ends. Default: it is repeated a few
	// times, and the listing fails.
	Throttled func(err error, wait time.Duration)
}

// Check returns the error of a segment that is not there.
func (l Listing) Check() error {
	if l.Segments < 0 || l.Segment < 0 || l.Segment >= max(l.Segments, 1) {
		return errs.Errorf("there is no segment %d of %d: count segments from 0", l.Segment, max(l.Segments, 1))
	}
	return nil
}

// Has reports whether an entry is in the segment, by a hash of its key. It is for stores that do not divide what they
// hold by themselves.
func (l Listing) Has(key string) bool {
	if l.Segments <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, key)
	sum := h.Sum64() // its low bits are alike for short keys that are alike
	return int((sum^sum>>32)%uint64(l.Segments)) == l.Segment
}
