package worker

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	failsAfter = 10 * time.Second // how long the reads of a shard fail before the failure is reported: a short throttling is not
	failsLeast = 3                // how many reads in a row fail before that
)

// failing describes the failed reads of a shard since its last successful one.
type failing struct {
	since time.Duration // when the first one failed; 0: none did
	at    time.Time     // the same, by the wall clock
	err   error         // of the last one
}

// failsLong reports whether the reads of a partition have failed for long enough to be reported.
func (p *assignment) failsLong(now time.Duration) bool {
	return p.failing.since > 0 && p.attempt >= failsLeast && now-p.failing.since >= failsAfter && !p.draining && !p.ended && !p.isStopped()
}

// readsFail notes a failed read of a partition; at is when it failed.
func (w *Worker) readsFail(p *assignment, err error, at time.Time) {
	if p.failing.since == 0 {
		p.failing.since, p.failing.at = max(1, w.now), at
		w.failing[p] = struct{}{}
	}
	p.failing.err = err
}

// readsWork notes that a read of a partition was answered.
func (w *Worker) readsWork(p *assignment) {
	w.reads.worked = w.reads.worked || p.failing.since > 0
	w.forgetFailures(p)
}

// forgetFailures forgets the failures of a partition.
func (w *Worker) forgetFailures(p *assignment) {
	p.failing = failing{}
	delete(w.failing, p)
}

// failures returns the partitions whose reads have failed for long enough to be reported, the longest first.
func (w *Worker) failures() (all []*assignment) {
	for p := range w.failing {
		if p.failsLong(w.now) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *assignment) int {
		return cmp.Or(cmp.Compare(a.failing.since, b.failing.since), cmp.Compare(a.name, b.name))
	})
	return all
}

// tellReads logs failing reads once a minute, and once that no shard fails any more.
func (w *Worker) tellReads() {
	all := w.failures()
	switch {
	case len(all) == 0:
		if w.reads.told > 0 && w.reads.worked { // else the shards that failed went to other workers
			w.tell(slog.LevelInfo, "shards are read again", slog.Duration("down", (w.now-w.reads.since).Round(time.Second)))
		}
		w.reads = reads{}
	case w.reads.told == 0 || w.now-w.reads.told >= tellAgain:
		first := all[0]
		if w.reads.told == 0 {
			w.reads.since = first.failing.since
		}
		w.reads.told, w.reads.worked = max(1, w.now), false
		w.tell(slog.LevelError, "shards cannot be read: calls fail, and are tried again", slog.Int("shards", len(all)), slog.String("first", first.row.Shard),
			slog.Duration("age", (w.now-first.failing.since).Round(time.Second)), slog.Int("attempts", first.attempt), errAttr(first.failing.err))
	}
}

// reads is what the log has of failing reads.
type reads struct {
	told   time.Duration // when the last line was logged; 0: no reads fail
	since  time.Duration // when the reads began to fail
	worked bool          // since that line, a read of a shard that had failed was answered
}

// failingOf returns the shards whose reads fail, for the heartbeat: mostBehind of them, the longest first.
func (w *Worker) failingOf() map[string]leases.ReadFailure {
	all := w.failures()
	if len(all) == 0 {
		return nil
	}
	of := make(map[string]leases.ReadFailure, len(all))
	for _, p := range all[:min(len(all), mostBehind)] {
		of[p.row.Shard] = leases.ReadFailure{Since: p.failing.at.UTC(), Class: pipeline.ErrorClass(p.failing.err)}
	}
	return of
}
