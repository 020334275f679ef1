package worker

import (
	"log/slog"
	"time"
)

// tellAgain is the time between two lines about a lease table that stays out of reach.
const tellAgain = time.Minute

// reach is how the lease table does, which heartbeats do not show: they go to another table.
type reach struct {
	err  error         // of the last call that failed
	told time.Duration // when it was last told that the table is out of reach; 0 while it is not
}

// unwritten is for how long a checkpoint that is due could not be written, and of how many shards; 0 where it is no longer
// than a lease lasts.
func (w *Worker) unwritten() (age time.Duration, shards int) {
	late := w.o.Lease + w.o.Checkpoint
	for _, r := range w.rows.all() {
		if p := r.assignment; p != nil && p.due > 0 && w.now-p.due > late {
			age = max(age, w.now-p.due)
			shards++
		}
	}
	return age, shards
}

// unseen is for how long the lease table could not be read; 0 where it is no longer than a lease lasts.
func (w *Worker) unseen() time.Duration {
	if age := w.now - w.sent; w.seenOnce && age > w.o.Lease+2*w.refreshEvery() {
		return age
	}
	return 0
}

// tellReach says each minute that the lease table is out of reach, and once that it is not any more.
func (w *Worker) tellReach() {
	age, shards := w.unwritten()
	unseen := w.unseen()
	switch {
	case age == 0 && unseen == 0:
		if w.reach.told > 0 {
			w.reach = reach{}
			w.tell(slog.LevelInfo, "the lease table is read and written again")
		}
	case w.reach.told == 0 || w.now-w.reach.told >= tellAgain:
		w.reach.told = max(1, w.now)
		var attrs []slog.Attr
		if age > 0 {
			attrs = append(attrs, slog.Duration("unwritten_for", age.Round(time.Second)), slog.Int("shards", shards))
		}
		if unseen > 0 {
			attrs = append(attrs, slog.Duration("unread_for", unseen.Round(time.Second)))
		}
		if w.reach.err != nil {
			attrs = append(attrs, errAttr(w.reach.err))
		}
		w.tell(slog.LevelError, "the lease table is out of reach: what is written since is written again where this consumer ends before its checkpoints are", attrs...)
	}
}
