package worker

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// staleToken is the longest that taking the right to a call may last. A call made
// later could come together with those of other workers that waited for their turn since.
const staleToken = 200 * time.Millisecond

// quota spaces the DescribeStream calls of the whole fleet. A count that all workers
// share is raised before each call, and only by one that has seen it stand still for
// as long as a call may take: so there is one call in that time, whoever makes it,
// and no clock is compared with another.
type quota struct {
	queue   []describing
	seen    int64         // the count, as it was last seen; -1 before
	since   time.Duration // since when it stands still, as far as this worker knows
	busy    bool          // a reservation or a call is under way
	timer   bool
	fastest time.Duration // that a reservation ever was
	tries   int
}

// describing is a call that waits.
type describing struct {
	query  shardreader.DescribeQuery
	wanted func() bool
	then   func(shardreader.StreamDescription, error)
}

// describe makes a DescribeStream call in its turn, unless it is no longer wanted then.
func (w *Worker) describe(q shardreader.DescribeQuery, wanted func() bool, then func(shardreader.StreamDescription, error)) {
	w.quota.queue = append(w.quota.queue, describing{q, wanted, then})
}

// pumpDescribe goes on with the first call that waits.
func (w *Worker) pumpDescribe() {
	q := &w.quota
	for len(q.queue) > 0 && !q.queue[0].wanted() {
		q.queue = q.queue[1:]
	}
	if q.busy || q.timer || len(q.queue) == 0 || w.stopped {
		return
	}
	space := time.Duration(float64(time.Second) / w.o.DescribeRate)
	if wait := q.since + space - w.now; q.seen >= 0 && wait > 0 {
		w.pumpIn(wait)
		return
	}
	q.busy = true
	sent := w.now
	w.do(Reserve{on(w, func(e Reserved) {
		q.busy = false
		q.since = w.now
		took := w.now - sent
		if e.Err == nil && (q.fastest == 0 || took < q.fastest) {
			q.fastest = max(took, 1)
		}
		switch {
		case e.Err != nil:
			w.tellOnce("quota", slog.LevelWarn, "the count of DescribeStream calls cannot be read: new shards wait for it", errAttr(e.Err))
			after, _ := pipeline.Retryable(e.Err)
			q.seen = -1
			w.pumpIn(w.backoff(q.tries, maxRetry, after))
			q.tries++
			return
		case e.OK && took <= max(staleToken, 2*q.fastest) && len(q.queue) > 0:
			if took > staleToken {
				w.tellOnce("slow quota", slog.LevelWarn, "taking the right to a DescribeStream call takes long: shards are found slowly", slog.Duration("took", took))
			}
			q.seen, q.tries = e.Count, 0
			w.callDescribe()
			return
		}
		q.seen = e.Count
		if e.Count == 0 {
			q.since = w.now - space // nobody has ever made a call
		}
	}), DescribeQuota, q.seen})
}

func (w *Worker) pumpIn(d time.Duration) {
	w.quota.timer = true
	w.after(d, func() { w.quota.timer = false })
}

func (w *Worker) callDescribe() {
	q := &w.quota
	d := q.queue[0]
	q.queue = q.queue[1:]
	if len(q.queue) == 0 {
		q.queue = nil
	}
	q.busy = true
	w.do(DescribeStream{on(w, func(e Described) {
		q.busy = false
		delete(w.told, "quota")
		d.then(e.Description, e.Err)
	}), d.query})
}
