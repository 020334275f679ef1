package worker

import (
	"log/slog"
	"time"
)

const (
	tellAgain  = time.Minute      // between two lines about an outage that lasts
	failsAfter = 10 * time.Second // how long the reads of a shard fail before that is reported: short throttling is not
	failsLeast = 3                // how many reads in a row fail before that is reported
)

// outage is something that fails for long, for its log lines.
type outage struct {
	told      time.Duration // when the last line was logged; 0: it does not fail
	since     time.Duration // when it began to fail
	err       error         // of the last call that failed
	recovered bool          // something that had failed succeeded after the last line
}

// update reports whether to log the failure now, and whether to log its end.
func (o *outage) update(now time.Duration, fails bool) (down, up bool) {
	switch {
	case !fails:
		up, o.told = o.told > 0, 0
	case o.told == 0 || now-o.told >= tellAgain:
		down, o.told = true, max(1, now)
	}
	return down, up
}

// tellTable logs once a minute that the lease table is out of reach, and once that it is in reach again. Heartbeats do
// not show that: they go to another table.
func (w *Worker) tellTable(s survey) {
	unseen := w.unseen()
	down, up := w.table.update(w.now, s.lateFor > 0 || unseen > 0)
	if up {
		w.table.err = nil
		w.tell(slog.LevelInfo, "the lease table is read and written again")
	}
	if !down {
		return
	}
	var attrs []slog.Attr
	if s.lateFor > 0 {
		attrs = append(attrs, roundedAttr("unwritten_for", s.lateFor), slog.Int("shards", s.lateOnes))
	}
	if unseen > 0 {
		attrs = append(attrs, roundedAttr("unread_for", unseen))
	}
	if w.table.err != nil {
		attrs = append(attrs, errAttr(w.table.err))
	}
	w.tell(slog.LevelError, "the lease table is out of reach: if this consumer ends now, its last records are delivered again", attrs...)
}

func roundedAttr(key string, d time.Duration) slog.Attr {
	return slog.Duration(key, d.Round(time.Second))
}

// unseen is how long the lease table could not be read; 0 up to the lease time and two refreshes.
func (w *Worker) unseen() time.Duration {
	if age := w.now - w.sent; w.seenOnce && age > w.o.Lease+2*w.refreshEvery() {
		return age
	}
	return 0
}

// tellReads logs once a minute that the reads of these assignments fail, and once that shards are read again.
func (w *Worker) tellReads(all []*assignment) {
	first := w.reads.told == 0
	down, up := w.reads.update(w.now, len(all) > 0)
	switch {
	case up && w.reads.recovered: // else the shards that failed went to other consumers
		w.tell(slog.LevelInfo, "shards are read again", roundedAttr("down", w.now-w.reads.since))
	case down:
		p := all[0]
		if first {
			w.reads.since = p.failing.since
		}
		w.tell(slog.LevelError, "shards cannot be read: calls fail, and are tried again", slog.Int("shards", len(all)), slog.String("first", p.row.Shard),
			roundedAttr("age", w.now-p.failing.since), slog.Int("attempts", int(p.attempt)), errAttr(p.failing.err))
	}
	if down || len(all) == 0 {
		w.reads.recovered = false
	}
}

// failing describes the failed reads of a shard since its last successful one.
type failing struct {
	since time.Duration // when the first one failed; 0: none did
	at    time.Time     // the same, by the wall clock
	err   error         // of the last one
}

// failsLong reports whether the reads of an assignment have failed for long enough to be reported.
func (p *assignment) failsLong(now time.Duration) bool {
	f := p.failing
	lasts := f.since > 0 && p.attempt >= failsLeast && now-f.since >= failsAfter
	return lasts && (p.phase.requests() || p.phase == confirming)
}

// readsFail notes a failed read of an assignment; at is when it failed.
func (w *Worker) readsFail(p *assignment, err error, at time.Time) {
	if p.failing.since == 0 {
		p.failing.since, p.failing.at = max(1, w.now), at
	}
	p.failing.err = err
}

// readsWork notes that a read of an assignment was answered.
func (w *Worker) readsWork(p *assignment) {
	w.reads.recovered = w.reads.recovered || p.failing.since > 0
	p.failing = failing{}
}
