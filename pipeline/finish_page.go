package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// finishDeliveries notes that n deliveries of a page are finished. After the last one of the page, the watermark of its
// partition can move.
func (r *run) finishDeliveries(in *inflightPage, n int) {
	if in.unfinished -= n; in.unfinished > 0 {
		return
	}
	if pos, ok := in.partition.watermark.Finish(in.watermarkID, in.deliveries); ok {
		r.setWatermark(in.partition, pos)
	}
	r.endPage(in)
}

// endPage ends a page that has no unfinished delivery.
func (r *run) endPage(in *inflightPage) {
	r.unfinished--
	in.partition.unfinished--
	r.effects.endedPages = append(r.effects.endedPages, in)
	r.forget(in.partition)
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

// commitTimeout bounds one Commit. A stop does not cancel a Commit, because the next run repeats everything that was
// not committed.
const commitTimeout = 10 * time.Second

// commit is the committer of a partition. It runs until the newest watermark is committed. It skips older watermarks,
// so committed positions never go back. After a hard stop it tries a position only once. That is safe, because the next
// run reads again from the last committed position.
func (r *run) commit(part *partition) {
	hasUncommitted := true
	for hasUncommitted {
		err := r.retry(r.hardCtx, func() error {
			var pos Position
			r.step(func(time.Time) {
				pos, hasUncommitted = part.toCommit, part.uncommitted
				part.uncommitted, part.committing = false, hasUncommitted
				if !hasUncommitted {
					r.forget(part)
				}
			})
			if !hasUncommitted {
				return nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.hardCtx), commitTimeout)
			defer cancel()
			return guard("committer", &r.p.patience.commit, func() error { return r.committer.Commit(ctx, part.name, pos) })
		}, func(attempt int, err error) bool {
			r.p.log.LogAttrs(r.hardCtx, slog.LevelWarn, "commit failed and is tried again",
				r.p.failureAttrs(Failure{}, err, slog.String("partition", part.name), slog.Int("attempt", attempt+1))...)
			r.step(func(time.Time) {
				part.uncommitted = !part.state.isRevoked()
				r.failIfFatal(err)
			})
			return true
		})
		if err != nil {
			r.step(func(time.Time) { part.committing = false })
			return
		}
	}
}
