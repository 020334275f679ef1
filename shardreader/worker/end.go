package worker

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
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
	asked   time.Duration    // when it began
	sent    time.Duration    // when the read of the lease table that beats comes from was sent
	beats   map[string]int64 // last heartbeat of each consumer in that read
	listing bool             // the streams are being listed
	listed  time.Duration    // when the last listing ended; 0: none did yet
	streams map[string]*listing
}

// beatAt is a written heartbeat, and when its write was confirmed.
type beatAt struct {
	beat int64
	at   time.Duration
}

// emptyPage notes an empty page; sent is when its request was sent.
func (p *assignment) emptyPage(sent time.Duration) {
	copy(p.emptySent[:], p.emptySent[1:])
	p.emptySent[endPages-1] = sent
}

// atEnd returns when the first of the last endPages empty pages was requested, if all of the shard is
// checkpointed. For a stopped shard it returns now. It returns false if there is, or may be, more to do.
func (p *assignment) atEnd(now time.Duration) (time.Duration, bool) {
	r := p.row
	switch {
	case !p.drained() || p.draining || p.confirming || r.busy || p.acked != r.Checkpoint || p.stopNote() != r.Stopped:
		return 0, false
	case p.halted != "":
		return now, r.Stopped != ""
	case p.ended || p.undecided || p.paused || p.emptySent[0] == 0 || !p.anything && p.empties <= eagerPages:
		return 0, false
	}
	return p.emptySent[0], true
}

// endCheckWaits reports whether the check for the end waits for empty pages of a shard. Those pages are few, and the
// budget does not count them.
func (w *Worker) endCheckWaits(p *assignment) bool {
	if w.o.Idle == 0 || w.leaving || w.now-max(w.lastRecord, w.firstSeen) < w.o.Idle || p.gap != nil && p.halted != "" {
		return false
	}
	return p.emptySent[0] == 0 || !p.anything && p.empties <= eagerPages || w.end != nil && p.emptySent[0] < w.end.asked
}

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
		if w.now-max(w.lastRecord, w.firstSeen) < w.o.Idle {
			w.unreadWhy = "records came a moment ago"
			return
		}
		w.flush()
		if w.unreadWhy, _ = w.unreadLeases(nil); w.unreadWhy != "" || w.now < w.endAfter {
			return
		}
		w.beginEnd()
		return
	}
	c := w.end
	switch {
	case c.listed == 0:
		return
	case c.beats == nil:
		c.sent, c.beats = w.sent, make(map[string]int64, len(w.peers))
		for id, p := range w.peers {
			c.beats[id] = p.Beat
		}
	}
	w.flush()
	why, stopped := w.unread(c)
	w.unreadWhy = why
	switch {
	case w.end == nil || why != "" && w.now-c.listed < relistAfter:
	case why != "":
		w.listEnd(c)
	default:
		w.end, w.endAfter = nil, w.now+w.o.Idle
		w.do(AtEnd{Asked: c.asked, Stopped: stopped})
	}
}

// flush drains the shards that have an empty page or are stopped: the sinks write their incomplete batches.
func (w *Worker) flush() {
	for _, r := range w.rows.all() {
		if p := r.assignment; p != nil && !p.drained() && !p.flushed && (p.emptySent[0] > 0 || p.halted != "") {
			p.flushed = true
			w.do(Drain{p.name})
		}
	}
}

// beginEnd begins an endCheck: only requests from now on count.
func (w *Worker) beginEnd() {
	w.end = &endCheck{asked: max(1, w.now)}
	for _, r := range w.rows.all() {
		if p := r.assignment; p != nil && p.waiting {
			p.waiting = false // the check does not wait for the timer
			w.want(p)
		}
	}
	w.listEnd(w.end)
}

// listEnd lists the streams, then reads the lease table.
func (w *Worker) listEnd(c *endCheck) {
	if c.listing {
		return
	}
	c.listing = true
	streams := make(map[string]*listing)
	current := func() bool { return w.end == c && w.staying() }
	failed := func(err error) {
		if w.end == c {
			w.end, w.endAfter = nil, w.now+endRetry
			w.unreadWhy = "a stream cannot be listed: " + pipeline.LogText(err)
		}
	}
	var next func(i, j int)
	next = func(i, j int) {
		switch {
		case !current():
			return
		case i == len(w.sources):
			w.afterRefresh(func() {
				if current() {
					c.streams, c.listed, c.listing = streams, max(1, w.now), false
				}
			})
			return
		case j == len(w.sources[i].streams):
			if i+1 < len(w.sources) {
				w.findStreams(w.sources[i+1], func(err error) {
					if err != nil {
						failed(err)
						return
					}
					next(i+1, 0)
				})
				return
			}
			next(i+1, 0)
			return
		}
		st := w.sources[i].streams[j]
		if st.gone {
			next(i, j+1)
			return
		}
		w.list(st.arn, current, func(l *listing, err error) {
			if err != nil {
				failed(err)
				return
			}
			streams[st.arn] = l
			next(i, j+1)
		})
	}
	w.findStreams(w.sources[0], func(err error) {
		if err != nil {
			failed(err)
			return
		}
		next(0, 0)
	})
}
