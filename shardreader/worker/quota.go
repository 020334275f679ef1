package worker

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// staleToken is the longest that a reservation may take. A call after a slower one could coincide with calls of other
// consumers that waited for it.
const staleToken = 200 * time.Millisecond

// quota spaces the DescribeStream calls of the whole fleet. All consumers share a count. Before each call a consumer
// raises it, after it has seen the count unchanged for describeSpace. So the whole fleet makes one call in that time,
// and no clock is compared with another.
type quota struct {
	queue   []describeRequest
	seen    int64         // the count, as it was last seen; -1 before
	since   time.Duration // since when it is unchanged, as far as this consumer knows
	busy    bool          // a reservation or a call is in flight
	timer   bool
	fastest time.Duration // reservation
	tries   tries
}

// describer requests DescribeStream calls.
type describer interface {
	wanted(w *Worker) bool
	described(w *Worker, d shardreader.StreamDescription, err error)
}

// describeRequest is a DescribeStream call that waits, or is in flight.
type describeRequest struct {
	query shardreader.DescribeQuery
	by    describer
}

// describe makes a DescribeStream call in its turn, unless it is no longer wanted then.
func (w *Worker) describe(q shardreader.DescribeQuery, by describer) {
	w.quota.queue = append(w.quota.queue, describeRequest{q, by})
}

// pumpDescribe continues with the first call that waits.
func (w *Worker) pumpDescribe() {
	q := &w.quota
	for len(q.queue) > 0 && !q.queue[0].by.wanted(w) {
		q.queue = q.queue[1:]
	}
	if q.busy || q.timer || len(q.queue) == 0 || w.stopped {
		return
	}
	if wait := q.since + w.describeSpace() - w.now; q.seen >= 0 && wait > 0 {
		w.pumpIn(wait)
		return
	}
	q.busy = true
	w.do(Reserve{w.begin(reservation{w.now}), DescribeQuota, q.seen})
}

// describeSpace is the time between two calls.
func (w *Worker) describeSpace() time.Duration {
	return time.Duration(float64(time.Second) / w.o.DescribeRate)
}

func (w *Worker) pumpIn(d time.Duration) {
	w.quota.timer = true
	w.after(d, func() { w.quota.timer = false })
}

// reservation takes the right to one call.
type reservation struct{ sent time.Duration }

func (op reservation) answered(w *Worker, e Reserved) {
	q := &w.quota
	q.busy, q.since = false, w.now
	took := w.now - op.sent
	if e.Err != nil {
		w.tellOnce("quota", slog.LevelWarn, "the count of DescribeStream calls cannot be read: new shards wait for it",
			errAttr(e.Err))
		q.seen = -1
		w.pumpIn(q.tries.next(w, maxRetry, e.Err))
		return
	}
	if q.fastest == 0 || took < q.fastest {
		q.fastest = max(took, 1)
	}
	q.seen = e.Count
	switch {
	case e.OK && took <= max(staleToken, 2*q.fastest) && len(q.queue) > 0:
		if took > staleToken {
			w.tellOnce("slow quota", slog.LevelWarn, "taking the right to a DescribeStream call takes long: shards are found slowly",
				slog.Duration("took", took))
		}
		q.tries = 0
		w.callDescribe()
	case e.Count == 0:
		q.since = w.now - w.describeSpace() // no call was ever made
	}
}

func (w *Worker) callDescribe() {
	q := &w.quota
	op := q.queue[0]
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
	q.busy = true
	w.do(DescribeStream{w.begin(op), op.query})
}

func (op describeRequest) answered(w *Worker, e Described) {
	w.quota.busy = false
	delete(w.told, "quota")
	op.by.described(w, e.Description, e.Err)
}
