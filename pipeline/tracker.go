package pipeline

import "sync/atomic"

// Tracker tells which records of a page are finished, for a source that answers for
// each of them and not for the page. The zero Tracker is ready for use, for one page of
// one run; it may be asked at any time, by any goroutine.
//
// Of a page that has one, what can never be written goes back at once where there are no
// dead letters, with what stands behind it in its key's order, and the run does not wait: the
// source brings it again.
type Tracker struct {
	begun   atomic.Bool
	pending []atomic.Int32 // deliveries not finished, by the record's index
}

// Finished tells whether the record of that index in its page, as [record.Change.Index] and
// RecordError.Index have it, is finished: durable in each sink that it was routed to, or
// in dead letters, or of none of them. What was given back by [Control] is not, and
// nothing of a page is before it was handed to the sinks.
func (t *Tracker) Finished(index int) bool {
	return t.begun.Load() && (index >= len(t.pending) || t.pending[index].Load() == 0)
}

// begin notes what is to be done. No sink has begun with it.
func (t *Tracker) begin(prep *preparedPage) {
	last := -1 // a source may have put its records into an order of its own
	for r := range prep.routes {
		for i := range prep.routes[r].deliveries {
			last = max(last, int(prep.routes[r].deliveries[i].d.Change.Index))
		}
	}
	t.pending = make([]atomic.Int32, last+1)
	for r := range prep.routes {
		for i := range prep.routes[r].deliveries {
			t.pending[prep.routes[r].deliveries[i].d.Change.Index].Add(1)
		}
	}
	t.begun.Store(true)
}

// finish notes the end of a delivery that was not given back.
func (t *Tracker) finish(index int) { t.pending[index].Add(-1) }
