package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// finishDeliveries notes that n deliveries of a page are finished. After the last one, the watermark can move.
func (r *run) finishDeliveries(page *inflightPage, n int) {
	page.unfinished -= n
	if page.unfinished > 0 {
		return
	}
	pos, moved := page.partition.watermark.Finish(page.watermarkID, page.deliveries)
	if moved {
		r.setWatermark(page.partition, pos)
	}
	r.endPage(page)
}

// endPage ends a page that has no unfinished delivery.
func (r *run) endPage(page *inflightPage) {
	r.unfinished--
	page.partition.unfinished--
	r.addEffect(func() { page.span.End() })
	r.dropFinished(page.partition)
}

// setWatermark stores the new watermark of a partition, and starts the partition's committer unless it already runs.
func (r *run) setWatermark(part *partition, pos Position) {
	if r.committer == nil {
		return
	}
	part.toCommit, part.uncommitted = pos, true
	if !part.committing {
		part.committing = true
		r.work.Go(func() { r.commit(part) })
	}
}

// commitTimeout limits the time of one Commit. A stop does not cancel a Commit, because the next run repeats whatever
// is not committed.
const commitTimeout = 10 * time.Second

// commit is the committer of a partition. It runs until the newest watermark is committed. It skips older watermarks,
// so committed positions never go back. After a hard stop it tries a position only once. That is safe, because the next
// run reads again from the last committed position.
func (r *run) commit(part *partition) {
	for attempt := 0; ; {
		pos, ok := r.takeWatermark(part)
		if !ok {
			return
		}
		err := r.callCommit(part.name, pos)
		if err == nil {
			attempt = 0
			continue
		}
		r.commitFailed(part, attempt, err)
		if !r.waitToRetry(r.hardCtx, attempt, err) {
			r.step(func(time.Time) { part.committing = false })
			return
		}
		attempt++
	}
}

// takeWatermark returns the newest watermark of a partition, for its committer. If that is committed already, it
// returns false, and notes that the committer ends.
func (r *run) takeWatermark(part *partition) (pos Position, ok bool) {
	r.step(func(time.Time) {
		if !part.uncommitted {
			part.committing = false
			r.dropFinished(part)
			return
		}
		pos, ok, part.uncommitted = part.toCommit, true, false
	})
	return pos, ok
}

func (r *run) callCommit(partition string, pos Position) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.hardCtx), commitTimeout)
	defer cancel()
	return guard("committer", &r.p.denials.commit, func() error { return r.committer.Commit(ctx, partition, pos) })
}

// commitFailed logs a failed Commit, and marks the watermark as not committed. A fatal error also stops the run.
func (r *run) commitFailed(part *partition, attempt int, err error) {
	r.p.log.LogAttrs(r.hardCtx, slog.LevelWarn, "commit failed and is tried again",
		r.p.failureAttrs(Failure{}, err, slog.String("partition", part.name), slog.Int("attempt", attempt+1))...)
	r.step(func(time.Time) {
		part.uncommitted = !part.state.isRevoked()
		r.failIfFatal(err)
	})
}
