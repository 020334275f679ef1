package worker

import (
	"log/slog"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// followEvery is the time between two looks for the stream that replaces one that
// was read to its end.
const followEvery = 15 * time.Second

// syncSoon lists the streams before it is time for that, if this worker is the one to do it.
func (w *Worker) syncSoon() { w.syncIn(time.Second) }

func (w *Worker) syncIn(d time.Duration) {
	w.syncNo++
	no := w.syncNo
	w.after(w.jitter(d), func() {
		if w.syncNo == no {
			w.sync()
		}
	})
}

// sync holds the leases against the streams, one source after the other.
func (w *Worker) sync() {
	if w.syncing || w.leaving {
		return
	}
	if !w.leads() {
		w.synced = false // the next time that it leads, at once
		return
	}
	w.syncing, w.synced = true, true
	next, failed := w.o.SyncEvery, false
	var one func(i int)
	one = func(i int) {
		if i == len(w.sources) {
			w.syncing = false
			w.listed = w.listed || !failed
			w.syncIn(next)
			return
		}
		w.syncSource(w.sources[i], func(err error) {
			if err != nil {
				failed = true
				w.tellOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
				after, _ := pipeline.Retryable(err)
				next = min(next, max(2*time.Second, after))
			} else {
				delete(w.told, "sync")
			}
			if w.idle(w.sources[i]) {
				next = min(next, followEvery)
			}
			one(i + 1)
		})
	}
	one(0)
}

// idle tells whether nothing of a source is left to be read.
func (w *Worker) idle(s *source) bool {
	for _, r := range w.rows.all() {
		if !r.Ended() && w.belongs(r, s) {
			return false
		}
	}
	return true
}

// belongs tells whether a lease is of a source.
func (w *Worker) belongs(r *row, s *source) bool {
	if r.Stream == "" {
		return len(w.sources) == 1
	}
	if s.Stream != "" {
		return r.Stream == s.Stream
	}
	return tableOf(r.Stream) == s.Table
}

// tableOf is the name of the table that a stream's ARN names.
func tableOf(arn string) string {
	_, rest, _ := strings.Cut(arn, ":table/")
	table, _, _ := strings.Cut(rest, "/stream/")
	return table
}
