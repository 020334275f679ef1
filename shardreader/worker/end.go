package worker

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// endPages is the number of empty pages in a row after which a shard counts as read to its end: the
	// service returns some empty pages before records.
	endPages = 5

	// keptBeats is the number of heartbeats whose times are kept: endPages empty pages take fewer.
	keptBeats = 600

	relistAfter = 30 * time.Second // an endCheck that waits for other consumers lists the streams again
	endRetry    = 2 * time.Second  // after a listing that failed
)

// endCheck checks whether everything is read. It uses only answers to requests that were sent after it began:
// the listed streams, the lease table, and the empty pages of each shard, whichever consumer reads it.
type endCheck struct {
	asked    time.Duration    // when it began
	sent     time.Duration    // when the read of the lease table that beats comes from was sent
	beats    map[string]int64 // last heartbeat of each consumer in that read
	listedAt time.Duration    // when the last listing ended; 0: none did yet
	streams  map[string]*listing

	// The listing in flight.
	found  map[string]*listing // nil: none is
	source int                 // of Worker.sources
	index  int                 // of the source's streams
	stream *stream
}

// beatAt is a written heartbeat, and when its write was confirmed.
type beatAt struct {
	beat int64
	at   time.Duration
}

// atEnd returns when the first of the last endPages empty pages was requested, if all of the shard is
// checkpointed. For a stopped shard it returns now. It returns false if there is, or may be, more to do.
func (p *assignment) atEnd(now time.Duration) (time.Duration, bool) {
	switch {
	case !p.drained() || p.row.busy || !p.isSaved():
		return 0, false
	case p.phase == stopped || p.phase == stoppedAtGap:
		return now, p.row.Stopped != ""
	case p.phase != reading && p.phase != afterGap, p.paused, !p.empty.enough(), !p.empty.meanEmpty():
		return 0, false
	}
	return p.empty.sent[0], true
}

// endCheckWaits reports whether the check for the end waits for empty pages of a shard. Those pages are few, and the
// budget does not count them.
func (w *Worker) endCheckWaits(p *assignment) bool {
	if w.o.Idle == 0 || w.leaving || !w.isQuiet() || p.phase == stoppedAtGap {
		return false
	}
	return !p.empty.enough() || !p.empty.meanEmpty() || w.end != nil && p.empty.sent[0] < w.end.asked
}

// isQuiet reports whether no record came for Options.Idle.
func (w *Worker) isQuiet() bool { return w.now-max(w.lastRecord, w.firstSeen) >= w.o.Idle }

// endBeat returns a heartbeat; all records that were in this consumer's shards before it are checkpointed. 0 means
// that there is no such heartbeat.
func (w *Worker) endBeat() int64 {
	// A lease can be ours although the answer to its write was lost: only a read of the table shows it.
	since := w.sent
	if !w.seenOnce || w.taking > 0 || len(w.creating) > 0 {
		return 0
	}
	for _, r := range w.rows.all() {
		switch {
		case r.assignment != nil:
			at, ok := r.assignment.atEnd(w.now)
			if !ok {
				return 0
			}
			since = min(since, at)
		case w.mine(r) && w.active(r):
			return 0
		}
	}
	for _, b := range slices.Backward(w.beats) {
		if b.at <= since {
			return b.beat
		}
	}
	return 0
}

// checkEnd checks for the end after each read of the lease table, if Options.Idle is set.
func (w *Worker) checkEnd() {
	if w.o.Idle == 0 || w.leaving {
		return
	}
	if w.end != nil && w.lastRecord >= w.end.asked {
		w.end = nil
	}
	if w.end == nil {
		if !w.isQuiet() {
			w.unreadWhy = "records came a moment ago"
			return
		}
		w.flush()
		if w.unreadWhy = w.newUnreadSearch(nil).leases(); w.unreadWhy != "" || w.now < w.endAfter {
			return
		}
		w.beginEnd()
		return
	}
	c := w.end
	switch {
	case c.listedAt == 0:
		return
	case c.beats == nil:
		c.sent, c.beats = w.sent, make(map[string]int64, len(w.peers))
		for id, p := range w.peers {
			c.beats[id] = p.Heartbeat
		}
	}
	w.flush()
	s := w.newUnreadSearch(c)
	why := s.all()
	w.unreadWhy = why
	switch {
	case s.moved:
		w.end = nil // the heartbeat of the lease's owner may be older than the move: the check begins again
	case why != "" && w.now-c.listedAt < relistAfter:
	case why != "":
		c.list(w)
	default:
		w.end, w.endAfter = nil, w.now+w.o.Idle
		w.do(AtEnd{Asked: c.asked, Stopped: s.stopped})
	}
}

// flush drains the shards that have an empty page or are stopped: the sinks write their incomplete batches.
func (w *Worker) flush() {
	for p := range w.assigned() {
		if !p.drained() && !p.pages.flushed && (p.empty.enough() || p.why != "") {
			p.pages.flushed = true
			w.do(Drain{p.name})
		}
	}
}

// beginEnd begins an endCheck: only requests from now on count.
func (w *Worker) beginEnd() {
	w.end = &endCheck{asked: max(1, w.now)}
	for p := range w.assigned() {
		if p.poll == waiting {
			w.wake(p) // the check does not wait for the timer
		}
	}
	w.end.list(w)
}

// list lists the streams, then reads the lease table.
func (c *endCheck) list(w *Worker) {
	if c.found != nil {
		return
	}
	c.source, c.found = -1, make(map[string]*listing)
	c.nextSource(w)
}

func (c *endCheck) wanted(w *Worker) bool { return w.end == c && w.staying() }

func (c *endCheck) nextSource(w *Worker) {
	c.source++
	if c.source == len(w.sources) {
		w.afterRefresh(c)
		return
	}
	c.index = -1
	w.findStreams(w.sources[c.source], c)
}

func (c *endCheck) streamsFound(w *Worker, err error) {
	if err != nil {
		c.fail(w, err)
		return
	}
	c.nextStream(w)
}

func (c *endCheck) nextStream(w *Worker) {
	if !c.wanted(w) {
		return
	}
	streams := w.sources[c.source].streams
	for c.index++; c.index < len(streams); c.index++ {
		if c.stream = streams[c.index]; !c.stream.gone {
			w.list(c.stream.arn, c)
			return
		}
	}
	c.nextSource(w)
}

func (c *endCheck) listed(w *Worker, l *listing, err error) {
	if err != nil {
		c.fail(w, err)
		return
	}
	c.found[c.stream.arn] = l
	c.nextStream(w)
}

func (c *endCheck) fail(w *Worker, err error) {
	if w.end == c {
		w.end, w.endAfter = nil, w.now+endRetry
		w.unreadWhy = "a stream cannot be listed: " + redact.LogText(err)
	}
}

func (c *endCheck) refreshed(w *Worker) {
	if c.wanted(w) {
		c.streams, c.listedAt, c.found = c.found, max(1, w.now), nil
	}
}
