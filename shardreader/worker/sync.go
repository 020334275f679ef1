package worker

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// followEvery is the time between two listings of the streams while a stream is read to its end and another may replace
// it.
const followEvery = 15 * time.Second

// syncStage is what a leaseSync waits for. Each source goes through them in this order.
type syncStage uint8

const (
	findingStreams syncStage = iota // the list of its streams
	readingBegun                    // the lease table, for the streams that were begun
	settingStreams                  // for leases of another application: the listing of a stream, then the writes
	listingStream                   // the listing of the stream, from the first that is read
	readingLeases                   // the lease table, again: other consumers may have made leases since
	writingLeases                   // the writes of the plan
)

// leaseSync compares the leases with the listed streams, one source after the other. Only the leading consumer does that.
//
// A stream is begun once the one before it was read to its end, so that the changes of an item keep their order if the
// table's stream is switched off and on.
type leaseSync struct {
	stage  syncStage
	source int // of Worker.sources
	index  int // of the source's streams
	stream *stream
	start  Start // of the stream
	list   *listing
	rows   []*row // that settingStreams writes
	plan   plan
	left   int           // writes in flight
	err    error         // the first of those that failed
	next   time.Duration // from this leaseSync to the next one
	failed bool
}

// syncSoon begins a leaseSync early, if this consumer leads.
func (w *Worker) syncSoon() { w.syncIn(time.Second) }

func (w *Worker) syncIn(d time.Duration) { w.syncAlarm.in(w, w.jitter(d), w.beginSync) }

// beginSync begins a leaseSync.
func (w *Worker) beginSync() {
	if w.sync != nil || w.leaving {
		return
	}
	if !w.leads() {
		w.synced = false // it begins one at once when it leads again
		return
	}
	w.synced = true
	w.sync = &leaseSync{next: w.o.SyncEvery}
	w.sync.findStreams(w)
}

// findStreams begins with the next source.
func (s *leaseSync) findStreams(w *Worker) {
	if s.source < len(w.sources) {
		s.stage = findingStreams
		w.findStreams(s.of(w), s)
		return
	}
	w.sync = nil
	w.listed = w.listed || !s.failed
	w.syncIn(s.next)
}

func (s *leaseSync) of(w *Worker) *source { return w.sources[s.source] }

// sourceDone ends the work for a source.
func (s *leaseSync) sourceDone(w *Worker, err error) {
	if err != nil {
		s.failed = true
		w.tellOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
		after, _ := pipeline.Retryable(err)
		s.next = min(s.next, max(2*time.Second, after))
	} else {
		delete(w.told, "sync")
	}
	if src := s.of(w); !w.rows.any(func(r *row) bool { return !r.Ended() && w.belongs(r, src) }) {
		s.next = min(s.next, followEvery)
	}
	s.source++
	s.findStreams(w)
}

func (s *leaseSync) streamsFound(w *Worker, err error) {
	if err != nil {
		s.sourceDone(w, err)
		return
	}
	s.stage = readingBegun
	w.afterRefresh(s)
}

// refreshed continues after the lease table was read. The begun streams are read before their leases, so that a stream
// counted as begun has leases, or had them.
func (s *leaseSync) refreshed(w *Worker) {
	if s.stage == readingBegun {
		for _, st := range s.of(w).streams {
			st.begun = w.begunStreams[st.arn]
		}
		s.index = 0
		s.setStreams(w)
		return
	}
	s.plan = w.planOf(s.stream.arn, s.list, !s.stream.begun, s.start)
	if s.start.following && !w.isBegun(s.stream) {
		s.note(w, &gapNote{why: betweenStreams, gap: w.gapBetween(s.stream)})
		return
	}
	s.apply(w)
}

func (s *leaseSync) wanted(w *Worker) bool { return w.staying() }

func (w *Worker) staying() bool { return !w.leaving && !w.stopped }

// listed continues after a stream was listed.
func (s *leaseSync) listed(w *Worker, l *listing, err error) {
	s.list = l
	gone := errors.Is(err, shardreader.ErrNotFound)
	switch {
	case err != nil && !gone:
		s.sourceDone(w, err)
	case s.stage == settingStreams:
		s.setStream(w)
	case gone:
		s.stream.gone = true
		s.streamDone(w, w.isReadOut(s.stream))
	default:
		s.stage = readingLeases
		w.afterRefresh(s)
	}
}

// setStreams writes the stream into the leases of another application: the one
// that lists their shard, and the newest for a shard that none lists.
func (s *leaseSync) setStreams(w *Worker) {
	src := s.of(w)
	if s.index == len(src.streams) || !w.hasStrange(src) {
		s.firstStream(w)
		return
	}
	s.stage, s.stream, s.list = settingStreams, src.streams[s.index], nil
	if s.stream.gone {
		s.setStream(w)
		return
	}
	w.list(s.stream.arn, s)
}

// setStream finds the leases of the stream, and notes that it is begun before they name it.
func (s *leaseSync) setStream(w *Worker) {
	src := s.of(w)
	newest := s.index == len(src.streams)-1
	s.rows = nil
	for _, r := range w.rows.all() {
		if r.Stream == "" && w.belongs(r, src) && !r.busy && (s.list.has(r.Shard) || newest && !r.Ended()) {
			s.rows = append(s.rows, r)
		}
	}
	if len(s.rows) == 0 {
		s.index++
		s.setStreams(w)
		return
	}
	s.begin(w)
}

// begin makes durable that all leases exist that a stream's reading starts with. If one is missing without this note,
// its maker crashed, and nothing is lost.
func (s *leaseSync) begin(w *Worker) {
	if s.stream.begun {
		s.begun(w)
		return
	}
	w.do(Begin{w.begin(s), s.stream.arn})
}

func (s *leaseSync) answered(w *Worker, e Done) {
	if e.Err != nil {
		s.sourceDone(w, e.Err)
		return
	}
	s.stream.begun = true
	s.begun(w)
}

// begun continues after it is durable that the stream was begun.
func (s *leaseSync) begun(w *Worker) {
	if s.stage == writingLeases {
		s.streamDone(w, s.plan.drained)
		return
	}
	s.left, s.err = 1, nil
	for _, r := range s.rows {
		next := r.Clone()
		next.Stream = s.stream.arn
		if r.Checkpoint.Kind == leases.TrimHorizon && s.list != nil {
			next.First = s.list.shard(r.Shard).First // it shows a gap if the stream drops unread records
		}
		s.left++
		w.write(&leaseWrite{why: setStream, row: r, next: next, by: s})
	}
	s.written(w, nil)
}

// written notes the end of a write.
func (s *leaseSync) written(w *Worker, err error) {
	s.err = cmp.Or(s.err, err)
	s.left--
	switch {
	case s.left > 0:
	case s.err != nil:
		s.sourceDone(w, s.err)
	case s.stage == settingStreams:
		s.index++
		s.setStreams(w)
	default:
		if len(s.plan.create) > 0 {
			w.refreshLeases()
		}
		s.begin(w)
	}
}

// firstStream begins with the first stream that is read.
func (s *leaseSync) firstStream(w *Worker) {
	s.index, s.start = w.firstRead(s.of(w)), w.o.Start
	if s.of(w).streams[s.index].begun {
		s.start = Start{}
	}
	s.listStream(w)
}

// streamDone continues with the next stream, if this one was read to its end.
func (s *leaseSync) streamDone(w *Worker, drained bool) {
	if !drained {
		s.sourceDone(w, nil)
		return
	}
	s.index++
	s.start = Start{}
	s.listStream(w)
}

func (s *leaseSync) listStream(w *Worker) {
	src := s.of(w)
	if s.index == len(src.streams) {
		s.sourceDone(w, nil)
		return
	}
	if w.follows(src, s.index) {
		s.start = Start{following: true}
	}
	s.stage, s.stream = listingStream, src.streams[s.index]
	if s.stream.gone {
		s.streamDone(w, w.isReadOut(s.stream))
		return
	}
	w.list(s.stream.arn, s)
}

// apply makes the leases that are missing, and removes those that are no longer needed.
func (s *leaseSync) apply(w *Worker) {
	p, arn := s.plan, s.stream.arn
	alone := len(w.live()) == 1
	s.stage, s.left, s.err = writingLeases, 1, nil
	for _, r := range p.remove {
		w.write(&leaseWrite{why: removeLease, row: r})
	}
	for _, c := range p.below {
		w.tellOnce("below "+c.ID, slog.LevelError, StoppedBelow,
			slog.String("stream", arn), slog.String("child", c.ID), slog.String("start", c.First))
		w.unbegun[c.ID] = unbegun{arn, StoppedBelow}
	}
	for _, c := range p.missing {
		s.note(w, &gapNote{why: shardUnbegun, gap: unknownIn(arn, c.ID)})
	}
	for _, l := range p.create {
		if alone && w.heartbeatFresh() {
			l.Owner = w.o.Worker
		}
		s.left++
		w.create(&leaseWrite{next: l, by: s})
	}
	for _, l := range p.unknown {
		s.left++
		s.note(w, &gapNote{why: parentUnread, gap: unknownIn(arn, l.Shard), lease: l})
	}
	s.written(w, nil)
}

// unbegun is why a shard is not begun: usually, records before it may be lost.
type unbegun struct{ stream, why string }

func unknownIn(stream, shard string) record.Gap {
	return record.Gap{StreamARN: stream, Shard: shard, UnknownExtent: true}
}

// gapBetween is the gap before a stream that follows one that was read. Neither has the changes of the time between
// them, when the table had no stream.
func (w *Worker) gapBetween(st *stream) record.Gap {
	g := record.Gap{StreamARN: st.arn, UnknownExtent: true}
	for _, r := range w.rows.all() {
		if at := r.Time.Truncate(time.Second); shardreader.StreamOf(r.Stream).Table == shardreader.StreamOf(st.arn).Table && at.After(g.From) {
			g.From = at
		}
	}
	if enabled, err := time.Parse("2006-01-02T15:04:05.000", st.label); err == nil {
		g.To = enabled.Truncate(time.Second)
	}
	return g
}

// note notes, once, that records before a shard may be lost, or between two streams.
func (s *leaseSync) note(w *Worker, op *gapNote) {
	op.by = s
	if w.told[unknownTopic(op.gap)] {
		s.noted(w, op)
		return
	}
	w.sendNote(op)
}

func unknownTopic(g record.Gap) string { return "unknown " + cmp.Or(g.Shard, g.StreamARN) }

// unknownTexts are logged for the gaps that a leaseSync found.
var unknownTexts = map[noteReason]string{
	parentUnread:   "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost",
	shardUnbegun:   "a shard has no lease, and its children were not begun: nobody knows whether it was read to its end",
	betweenStreams: "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what",
}

// noted logs a gap that is durable, once, and continues.
func (s *leaseSync) noted(w *Worker, op *gapNote) {
	attrs := []slog.Attr{slog.String("stream", op.gap.StreamARN)}
	if op.gap.Shard != "" {
		attrs = append(attrs, shardAttr(op.gap.Shard))
	}
	w.tellOnce(unknownTopic(op.gap), slog.LevelError, unknownTexts[op.why], attrs...)
	switch {
	case op.why == shardUnbegun: // the sync does not wait for it
	case op.why == betweenStreams && w.o.OnGap == Continue:
		s.apply(w)
	case op.why == betweenStreams:
		// An operator who makes a lease has the stream read nevertheless.
		l := slices.Concat(s.plan.create, s.plan.unknown)
		for _, lease := range l {
			w.unbegun[lease.Shard] = unbegun{s.stream.arn, StoppedBetween}
		}
		s.streamDone(w, s.plan.drained && len(l) == 0) // a stream that was emptied meanwhile does not stop the next one
	case w.o.OnGap == Stop:
		w.unbegun[op.lease.Shard] = unbegun{s.stream.arn, StoppedUnbegun}
		s.written(w, nil)
	default:
		w.create(&leaseWrite{next: op.lease, by: s})
	}
}
