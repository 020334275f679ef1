package coordinator

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

// followEvery is the time between two listings of the streams while a stream is read to its end, and another stream may
// replace it.
const followEvery = 15 * time.Second

// syncStage is the result that a leaseSync waits for. Each source passes through the stages in this order.
type syncStage uint8

const (
	findingStreams syncStage = iota // the list of the source's streams
	readingBegun                    // a read of the lease table, which shows the streams that were begun
	settingStreams                  // leases of another application get their stream: the listing of the stream, then the writes
	listingStream                   // the listing of a stream, from the first stream that is read
	readingLeases                   // another read of the lease table: other consumers may have created leases
	writingLeases                   // the writes of the plan
)

// leaseSync compares the leases with the listed streams, one source after the other, and writes the differences. Only
// the leading consumer runs it.
//
// A stream is begun once the stream before it was read to its end. So the changes of an item keep their order if the
// table's stream is switched off and on.
type leaseSync struct {
	stage       syncStage
	sourceIndex int // index in Coordinator.sources
	streamIndex int // index in the source's streams
	stream      *stream
	start       Start // where to begin the stream
	list        *listing
	rows        []*row // rows that get the stream in settingStreams
	plan        plan
	writesLeft  int           // writes in flight
	err         error         // error of the first write that failed
	nextIn      time.Duration // pause between this leaseSync and the next one
	failed      bool
}

// syncSoon begins a leaseSync early, if this consumer leads.
func (c *Coordinator) syncSoon() { c.syncIn(time.Second) }

func (c *Coordinator) syncIn(d time.Duration) { c.syncTimer.reset(c, c.jitter(d), c.beginSync) }

// beginSync begins a leaseSync.
func (c *Coordinator) beginSync() {
	if c.sync != nil || c.leaving {
		return
	}
	if !c.leads() {
		c.syncBegun = false // this consumer begins a leaseSync at once when it leads again
		return
	}
	c.syncBegun = true
	c.sync = &leaseSync{nextIn: c.o.SyncEvery}
	c.sync.findStreams(c)
}

// findStreams begins the work for the next source, or ends the leaseSync after the last one.
func (s *leaseSync) findStreams(c *Coordinator) {
	if s.sourceIndex < len(c.sources) {
		s.stage = findingStreams
		c.findStreams(s.currentSource(c), s)
		return
	}
	c.sync = nil
	c.syncSucceeded = c.syncSucceeded || !s.failed
	c.syncIn(s.nextIn)
}

func (s *leaseSync) currentSource(c *Coordinator) *source { return c.sources[s.sourceIndex] }

// sourceDone ends the work for a source.
func (s *leaseSync) sourceDone(c *Coordinator, err error) {
	if err != nil {
		s.failed = true
		c.logOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
		after, _ := pipeline.Retryable(err)
		s.nextIn = min(s.nextIn, max(2*time.Second, after))
	} else {
		delete(c.logged, "sync")
	}
	if src := s.currentSource(c); !c.rows.any(func(r *row) bool { return !r.Ended() && c.belongs(r, src) }) {
		s.nextIn = min(s.nextIn, followEvery)
	}
	s.sourceIndex++
	s.findStreams(c)
}

func (s *leaseSync) streamsFound(c *Coordinator, err error) {
	if err != nil {
		s.sourceDone(c, err)
		return
	}
	s.stage = readingBegun
	c.afterRefresh(s)
}

// refreshed continues after the lease table was read. The begun streams are read before their leases. So a stream that
// counts as begun has leases, or had leases.
func (s *leaseSync) refreshed(c *Coordinator) {
	if s.stage == readingBegun {
		for _, st := range s.currentSource(c).streams {
			st.begun = c.begunStreams[st.arn]
		}
		s.streamIndex = 0
		s.setStreams(c)
		return
	}
	s.plan = c.planLeases(s.stream.arn, s.list, !s.stream.begun, s.start)
	if s.start.following && !c.isBegun(s.stream) {
		s.noteUnknown(c, &gapNote{reason: betweenStreams, gap: c.gapBetween(s.stream)})
		return
	}
	s.apply(c)
}

func (s *leaseSync) wanted(c *Coordinator) bool { return c.staying() }

func (c *Coordinator) staying() bool { return !c.leaving && !c.stopped }

// listed continues after a stream was listed.
func (s *leaseSync) listed(c *Coordinator, l *listing, err error) {
	s.list = l
	gone := errors.Is(err, shardreader.ErrNotFound)
	switch {
	case err != nil && !gone:
		s.sourceDone(c, err)
	case s.stage == settingStreams:
		s.setStream(c)
	case gone:
		s.stream.gone = true
		s.streamDone(c, c.allRead(s.stream))
	default:
		s.stage = readingLeases
		c.afterRefresh(s)
	}
}

// setStreams writes the stream into the leases of another application, which name no stream. That is the stream that
// lists the lease's shard, or the newest stream if none lists it.
func (s *leaseSync) setStreams(c *Coordinator) {
	src := s.currentSource(c)
	if s.streamIndex == len(src.streams) || !c.hasForeignLeases(src) {
		s.firstStream(c)
		return
	}
	s.stage, s.stream, s.list = settingStreams, src.streams[s.streamIndex], nil
	if s.stream.gone {
		s.setStream(c)
		return
	}
	c.list(s.stream.arn, s)
}

// setStream finds the leases that get the stream. The stream is marked as begun before the leases name it.
func (s *leaseSync) setStream(c *Coordinator) {
	src := s.currentSource(c)
	newest := s.streamIndex == len(src.streams)-1
	s.rows = nil
	for _, r := range c.rows.all() {
		if r.Stream == "" && c.belongs(r, src) && !r.busy && (s.list.has(r.Shard) || newest && !r.Ended()) {
			s.rows = append(s.rows, r)
		}
	}
	if len(s.rows) == 0 {
		s.streamIndex++
		s.setStreams(c)
		return
	}
	s.markBegun(c)
}

// markBegun marks the stream as begun: all of its first leases exist. If a lease is missing without this mark, the
// consumer that created the other leases has crashed, and no records are lost.
func (s *leaseSync) markBegun(c *Coordinator) {
	if s.stream.begun {
		s.marked(c)
		return
	}
	c.emit(MarkBegun{c.newCall(s), s.stream.arn})
}

func (s *leaseSync) handleResult(c *Coordinator, e WriteResult) {
	if e.Err != nil {
		s.sourceDone(c, e.Err)
		return
	}
	s.stream.begun = true
	s.marked(c)
}

// marked continues after the mark of a begun stream is durable.
func (s *leaseSync) marked(c *Coordinator) {
	if s.stage == writingLeases {
		s.streamDone(c, s.plan.drained)
		return
	}
	s.writesLeft, s.err = 1, nil
	for _, r := range s.rows {
		next := r.Clone()
		next.Stream = s.stream.arn
		if r.Checkpoint.Kind == leases.TrimHorizon && s.list != nil {
			next.First = s.list.shard(r.Shard).First // if the stream drops unread records, First shows the gap
		}
		s.writesLeft++
		c.writeLease(&leaseWrite{reason: setStream, row: r, next: next, by: s})
	}
	s.written(c, nil)
}

// written counts a finished write.
func (s *leaseSync) written(c *Coordinator, err error) {
	s.err = cmp.Or(s.err, err)
	s.writesLeft--
	switch {
	case s.writesLeft > 0:
	case s.err != nil:
		s.sourceDone(c, s.err)
	case s.stage == settingStreams:
		s.streamIndex++
		s.setStreams(c)
	default:
		if len(s.plan.create) > 0 {
			c.refreshLeases()
		}
		s.markBegun(c)
	}
}

// firstStream continues with the first stream that is read.
func (s *leaseSync) firstStream(c *Coordinator) {
	s.streamIndex, s.start = c.firstBegun(s.currentSource(c)), c.o.Start
	if s.currentSource(c).streams[s.streamIndex].begun {
		s.start = Start{}
	}
	s.listStream(c)
}

// streamDone continues with the next stream if this stream was read to its end, as drained reports.
func (s *leaseSync) streamDone(c *Coordinator, drained bool) {
	if !drained {
		s.sourceDone(c, nil)
		return
	}
	s.streamIndex++
	s.start = Start{}
	s.listStream(c)
}

func (s *leaseSync) listStream(c *Coordinator) {
	src := s.currentSource(c)
	if s.streamIndex == len(src.streams) {
		s.sourceDone(c, nil)
		return
	}
	if c.follows(src, s.streamIndex) {
		s.start = Start{following: true}
	}
	s.stage, s.stream = listingStream, src.streams[s.streamIndex]
	if s.stream.gone {
		s.streamDone(c, c.allRead(s.stream))
		return
	}
	c.list(s.stream.arn, s)
}

// apply writes the plan: it creates missing leases, and removes leases that are no longer needed.
func (s *leaseSync) apply(c *Coordinator) {
	p, arn := s.plan, s.stream.arn
	alone := len(c.liveConsumers()) == 1
	s.stage, s.writesLeft, s.err = writingLeases, 1, nil
	for _, r := range p.remove {
		c.writeLease(&leaseWrite{reason: removeLease, row: r})
	}
	for _, child := range p.belowParent {
		c.logOnce("below "+child.ID, slog.LevelError, StoppedBelow,
			slog.String("stream", arn), slog.String("child", child.ID), slog.String("start", child.First))
		c.unbegunShards[child.ID] = unbegunShard{arn, StoppedBelow}
	}
	for _, child := range p.unreadAncestors {
		s.noteUnknown(c, &gapNote{reason: shardUnbegun, gap: unknownIn(arn, child.ID)})
	}
	for _, l := range p.create {
		if alone && c.heartbeatFresh() {
			l.Owner = c.o.ID
		}
		s.writesLeft++
		c.createLease(&leaseWrite{next: l, by: s})
	}
	for _, l := range p.unknownGap {
		s.writesLeft++
		g := unknownIn(arn, l.Shard)
		if created, ok := shardreader.ShardTime(l.Shard); ok && !l.From.IsZero() {
			g.From, g.To = l.From, second(created)
		}
		s.noteUnknown(c, &gapNote{reason: parentUnread, gap: g, lease: l})
	}
	s.written(c, nil)
}

// unbegunShard is a shard that is not begun, with the reason. Usually records before it may be lost.
type unbegunShard struct{ stream, reason string }

func unknownIn(stream, shard string) record.Gap {
	return record.Gap{StreamARN: stream, Shard: shard, UnknownExtent: true}
}

// gapBetween returns the gap before a stream that follows a stream that was read. Neither stream has the changes of the
// time between them, when the table had no stream.
func (c *Coordinator) gapBetween(st *stream) record.Gap {
	g := record.Gap{StreamARN: st.arn, UnknownExtent: true}
	for _, r := range c.rows.all() {
		if at := r.Time.Truncate(time.Second); shardreader.StreamFromARN(r.Stream).Table == shardreader.StreamFromARN(st.arn).Table && at.After(g.From) {
			g.From = at
		}
	}
	if enabled, err := time.Parse("2006-01-02T15:04:05.000", st.label); err == nil {
		g.To = enabled.Truncate(time.Second)
	}
	return g
}

// noteUnknown stores a gap of unknown extent, unless it is in Coordinator.logged.
func (s *leaseSync) noteUnknown(c *Coordinator, op *gapNote) {
	op.by = s
	if c.logged[unknownTopic(op.gap)] {
		s.noted(c, op)
		return
	}
	c.sendNote(op)
}

func unknownTopic(g record.Gap) string { return "unknown " + cmp.Or(g.Shard, g.StreamARN) }

// unknownTexts are the log messages for the gaps that a leaseSync finds.
var unknownTexts = map[noteReason]string{
	parentUnread:   "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost",
	shardUnbegun:   "a shard has no lease, and its children were not begun: nobody knows whether it was read to its end",
	betweenStreams: "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what",
}

// noted logs a durable gap, unless it is in Coordinator.logged, and continues.
func (s *leaseSync) noted(c *Coordinator, op *gapNote) {
	attrs := []slog.Attr{slog.String("stream", op.gap.StreamARN)}
	if op.gap.Shard != "" {
		attrs = append(attrs, shardAttr(op.gap.Shard))
	}
	c.logOnce(unknownTopic(op.gap), slog.LevelError, unknownTexts[op.reason], attrs...)
	switch {
	case op.reason == shardUnbegun: // the sync does not wait for it
	case op.reason == betweenStreams && c.o.OnGap == Continue:
		s.apply(c)
	case op.reason == betweenStreams:
		// The stream is read once an operator creates a lease.
		unleased := slices.Concat(s.plan.create, s.plan.unknownGap)
		for _, lease := range unleased {
			c.unbegunShards[lease.Shard] = unbegunShard{s.stream.arn, StoppedBetween}
		}
		s.streamDone(c, s.plan.drained && len(unleased) == 0) // a stream that the service has emptied does not stop the next one
	case c.o.OnGap == Stop:
		c.unbegunShards[op.lease.Shard] = unbegunShard{s.stream.arn, StoppedUnbegun}
		s.written(c, nil)
	default:
		c.createLease(&leaseWrite{next: op.lease, by: s})
	}
}
