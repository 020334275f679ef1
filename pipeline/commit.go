package pipeline

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// commitTimeout bounds one Commit. A stop does not cut it short: what is durable
// should be known as such, also by the next run.
const commitTimeout = 10 * time.Second

// partition is what the run knows of one partition. Pipeline.mu guards it.
type partition struct {
	name    string
	ctx     context.Context // done: it is cut, or the run stops hard
	cancel  context.CancelCauseFunc
	cut     bool // as revoked is: its Writes were cancelled too
	revoked bool // or recalled: nothing of it starts any more. Set with Pipeline.mu and all schedulers' locks held, so that each of them guards it

	over atomic.Bool // as revoked is, for those who hold no lock

	open       int         // pages read and not finished
	waiting    []*inflight // prepared, in order, behind one whose letters are not durable
	wm         Watermark
	pos        Position // to commit
	dirty      bool     // pos is not committed
	committing bool     // a committer is at work
	broken     bool     // nothing behind the page that broke is delivered
	ended      bool     // nothing more comes of it
	drain      bool     // nothing of it waits for a batch to fill
	filling    amount   // what waits for batches to fill holds of it, while that is counted
}

// advance takes over a new watermark. Pipeline.mu is held.
func (r *run) advance(part *partition, pos Position) {
	if r.committer == nil {
		return
	}
	part.pos, part.dirty = pos, true
	if !part.committing {
		part.committing = true
		r.work.Go(func() { r.commit(part) })
	}
}

// commit is the partition's committer, while there is something to commit. It
// always commits the newest watermark, so positions are skipped and never go back.
func (r *run) commit(part *partition) {
	for attempt := 0; ; {
		r.p.mu.Lock()
		if !part.dirty {
			part.committing = false
			r.forget(part)
			r.p.mu.Unlock()
			return
		}
		pos := part.pos
		part.dirty = false
		r.p.mu.Unlock()

		err := r.callCommit(part.name, pos)
		if err == nil {
			attempt = 0
			continue
		}
		r.p.mu.Lock()
		part.dirty = !part.revoked
		r.p.mu.Unlock()
		r.p.log.LogAttrs(r.hard, slog.LevelWarn, "commit failed and is tried again",
			r.p.failed(Failure{}, err, slog.String("partition", part.name), slog.Int("attempt", attempt+1))...)
		after, _ := Retryable(err)
		if IsFatal(err) {
			r.fail(err)
		}
		if r.hard.Err() != nil || !sleep(r.hard, r.p.o.Backoff.delay(attempt, after)) {
			// It has had its last try: the next run reads again from the last
			// commit that worked.
			r.p.mu.Lock()
			part.committing = false
			r.p.mu.Unlock()
			return
		}
		attempt++
	}
}

func (r *run) callCommit(partition string, pos Position) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = recovered("committer", v)
		}
		err = r.p.patience.commit.Take(err)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.hard), commitTimeout)
	defer cancel()
	return r.committer.Commit(ctx, partition, pos)
}

// forget drops a partition that has ended and is finished. Pipeline.mu is held. One that
// was revoked holds no share of the bounds before that.
func (r *run) forget(part *partition) {
	if part.revoked {
		r.bounds.forget(part.name)
	}
	if part.ended && part.open == 0 && part.wm.Open() == 0 && !part.dirty && !part.committing && r.parts[part.name] == part {
		part.cancel(nil)
		delete(r.parts, part.name)
		r.bounds.forget(part.name)
	}
}
