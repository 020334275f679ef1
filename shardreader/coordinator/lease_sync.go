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

// followEvery is the time between two listings of the streams of a source whose leases have all ended. A new stream may
// then replace the stream that was read to its end.
const followEvery = 15 * time.Second

// leaseSync compares the leases with the listed streams, one source after the other. Only the leading consumer runs a
// leaseSync. For each source it takes three steps:
//   - It lists the streams, and reads from the lease table which streams were begun.
//   - It writes the stream into leases of another application, because such leases name no stream.
//   - It lists each stream, beginning with the first stream that is read. It then reads the lease table again, because
//     other consumers may have made leases since, and writes the plan.
//
// A stream is begun only after the stream before it was read to its end. So the changes of an item keep their order if
// the table's stream is switched off and on.
type leaseSync struct {
	sourceIndex int // index in Coordinator.sources
	streamIndex int // index in the source's streams
	stream      *stream
	start       Start // start of the stream
	listing     *listing
	plan        leasePlan
	writesLeft  int           // writes in flight
	firstErr    error         // error of the first write that failed
	afterWrites func()        // continues after all writes succeeded
	nextIn      time.Duration // time from this leaseSync to the next one
	failed      bool
}

// syncs has the state of this consumer's leaseSyncs.
type syncs struct {
	running   *leaseSync // nil while no leaseSync runs
	timer     resettableTimer
	begun     bool // a leaseSync was begun since this consumer became the leader
	succeeded bool // a leaseSync succeeded
	childless int  // number of ended leases without children, at the last refresh
}

// syncSoon begins a leaseSync early, if this consumer leads.
func (c *Coordinator) syncSoon() { c.syncIn(time.Second) }

func (c *Coordinator) syncIn(d time.Duration) { c.syncs.timer.reset(c, c.jitter(d), c.beginSync) }

// beginSync begins a leaseSync, if this consumer leads and none runs.
func (c *Coordinator) beginSync() {
	if c.syncs.running != nil || !c.isRunning() {
		return
	}
	if !c.leads() {
		c.syncs.begun = false // this consumer begins a leaseSync at once when it leads again
		return
	}
	c.syncs.begun = true
	c.syncs.running = &leaseSync{nextIn: c.options.SyncEvery}
	c.syncs.running.findStreams(c)
}

// findStreams begins the work for the next source, or ends the leaseSync after the last one.
func (s *leaseSync) findStreams(c *Coordinator) {
	if s.sourceIndex == len(c.sources) {
		c.syncs.running = nil
		c.syncs.succeeded = c.syncs.succeeded || !s.failed
		c.syncIn(s.nextIn)
		return
	}
	c.findStreams(s.currentSource(c), func(err error) {
		if err != nil {
			s.sourceDone(c, err)
			return
		}
		// The begun streams are read before their leases, so that a stream that counts as begun has leases, or had
		// leases.
		c.afterRefresh(func() {
			for _, st := range s.currentSource(c).streams {
				st.begun = c.table.begunStreams[st.arn]
			}
			s.streamIndex = 0
			s.setStreams(c)
		})
	})
}

func (s *leaseSync) currentSource(c *Coordinator) *source { return c.sources[s.sourceIndex] }

// sourceDone ends the work for a source.
func (s *leaseSync) sourceDone(c *Coordinator, err error) {
	if err != nil {
		s.failed = true
		c.logOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
		requestedWait, _ := pipeline.Retryable(err)
		s.nextIn = min(s.nextIn, max(2*time.Second, requestedWait))
	} else {
		delete(c.logged, "sync")
	}
	src := s.currentSource(c)
	hasUnended := c.table.rows.any(func(r *row) bool { return !r.Ended() && c.belongs(r, src) })
	if !hasUnended {
		s.nextIn = min(s.nextIn, followEvery)
	}
	s.sourceIndex++
	s.findStreams(c)
}

// setStreams writes the names of the streams into the leases of another application, one stream after the other. A
// lease belongs to the stream that lists its shard. If no stream lists the shard, the lease belongs to the newest
// stream.
func (s *leaseSync) setStreams(c *Coordinator) {
	src := s.currentSource(c)
	if s.streamIndex == len(src.streams) || !c.hasForeignLeases(src) {
		s.firstStream(c)
		return
	}
	s.stream, s.listing = src.streams[s.streamIndex], nil
	if s.stream.unlisted {
		s.setStream(c)
		return
	}
	c.list(s.stream.arn, c.isRunning, func(l *listing, err error) {
		s.listing = l
		if err != nil && !errors.Is(err, shardreader.ErrNotFound) {
			s.sourceDone(c, err)
			return
		}
		s.setStream(c)
	})
}

// setStream writes the name of the current stream into its leases, and continues with the next stream. It marks the
// stream as begun before that.
func (s *leaseSync) setStream(c *Coordinator) {
	rows := s.unnamedRows(c)
	if len(rows) == 0 {
		s.nextStream(c)
		return
	}
	s.begin(c, func() {
		s.beginWrites(func() { s.nextStream(c) })
		for _, r := range rows {
			next := r.Clone()
			next.Stream = s.stream.arn
			if r.Checkpoint.Kind == leases.TrimHorizon && s.listing != nil {
				// If the stream drops unread records later, First shows that they are missing.
				next.First = s.listing.shard(r.Shard).First
			}
			s.writesLeft++
			c.writeLease(&leaseWrite{reason: setStream, row: r, next: next, done: func(err error) { s.writeEnded(c, err) }})
		}
		s.writeEnded(c, nil)
	})
}

// unnamedRows returns the leases that name no stream and belong to the current stream.
func (s *leaseSync) unnamedRows(c *Coordinator) (rows []*row) {
	src := s.currentSource(c)
	isNewest := s.streamIndex == len(src.streams)-1
	for _, r := range c.table.rows.all() {
		isOfStream := s.listing.has(r.Shard) || isNewest && !r.Ended()
		if r.Stream == "" && isOfStream && c.belongs(r, src) && !r.busy {
			rows = append(rows, r)
		}
	}
	return rows
}

// nextStream continues setStreams with the next stream.
func (s *leaseSync) nextStream(c *Coordinator) {
	s.streamIndex++
	s.setStreams(c)
}

// begin marks the stream as begun, and calls done once the mark is durable. The mark says that all first leases of the
// stream exist. A lease that is missing before the stream has its mark does not mean that records were lost: the
// consumer that created the other leases crashed before it had created all of them.
func (s *leaseSync) begin(c *Coordinator, done func()) {
	if s.stream.begun {
		done()
		return
	}
	c.emit(MarkBegun{newCall(c, func(e WriteResult) {
		if e.Err != nil {
			s.sourceDone(c, e.Err)
			return
		}
		s.stream.begun = true
		done()
	}), s.stream.arn})
}

// beginWrites begins a group of writes. done is called after all of them have ended. The caller counts each write in
// writesLeft. The count begins at 1, so that it does not become 0 before the caller has begun all writes. After the
// last one, the caller calls writeEnded for this 1.
func (s *leaseSync) beginWrites(done func()) { s.writesLeft, s.firstErr, s.afterWrites = 1, nil, done }

// writeEnded counts a finished write. After the last write, it continues with done of beginWrites, or ends the work for
// the source with the first error.
func (s *leaseSync) writeEnded(c *Coordinator, err error) {
	s.firstErr = cmp.Or(s.firstErr, err)
	s.writesLeft--
	switch {
	case s.writesLeft > 0:
	case s.firstErr != nil:
		s.sourceDone(c, s.firstErr)
	default:
		s.afterWrites()
	}
}

// firstStream continues with the first stream that is read.
func (s *leaseSync) firstStream(c *Coordinator) {
	src := s.currentSource(c)
	s.streamIndex, s.start = c.firstBegun(src), c.options.Start
	if src.streams[s.streamIndex].begun {
		s.start = Start{}
	}
	s.listStream(c)
}

// streamDone continues with the next stream if this stream was read to its end, as fullyRead reports.
func (s *leaseSync) streamDone(c *Coordinator, fullyRead bool) {
	if !fullyRead {
		s.sourceDone(c, nil)
		return
	}
	s.streamIndex++
	s.start = Start{}
	s.listStream(c)
}

// listStream lists the current stream and plans its leases. An unlisted stream has no new shards.
func (s *leaseSync) listStream(c *Coordinator) {
	src := s.currentSource(c)
	if s.streamIndex == len(src.streams) {
		s.sourceDone(c, nil)
		return
	}
	if c.followsReadStream(src, s.streamIndex) {
		s.start = Start{following: true}
	}
	s.stream = src.streams[s.streamIndex]
	if s.stream.unlisted {
		s.streamDone(c, c.allRead(s.stream))
		return
	}
	c.list(s.stream.arn, c.isRunning, func(l *listing, err error) {
		switch {
		case errors.Is(err, shardreader.ErrNotFound):
			s.stream.unlisted = true
			s.streamDone(c, c.allRead(s.stream))
		case err != nil:
			s.sourceDone(c, err)
		default:
			c.afterRefresh(func() { s.planStream(c, l) })
		}
	})
}

// planStream plans the leases of a listed stream, and writes the plan once the gap before the stream is noted.
func (s *leaseSync) planStream(c *Coordinator, l *listing) {
	s.plan = c.planLeases(s.stream.arn, l, !s.stream.begun, s.start)
	if !s.start.following || c.isBegun(s.stream) {
		s.apply(c)
		return
	}
	const text = "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what"
	s.noteUnknown(c, text, c.gapBetween(s.stream), func() {
		if c.options.OnGap == Continue {
			s.apply(c)
			return
		}
		// If an operator creates a lease of the stream, the stream is read nevertheless.
		unread := slices.Concat(s.plan.create, s.plan.unknownGap)
		for _, lease := range unread {
			c.unbegunShards[lease.Shard] = unbegunShard{s.stream.arn, StoppedBetweenStreams}
		}
		s.streamDone(c, s.plan.fullyRead && len(unread) == 0) // an emptied stream does not stop the next one
	})
}

// apply writes the plan: it creates missing leases, and removes leases that are no longer needed.
func (s *leaseSync) apply(c *Coordinator) {
	p, arn := s.plan, s.stream.arn
	ownsCreated := len(c.liveConsumers()) == 1 && c.heartbeatFresh()
	s.beginWrites(func() {
		if len(p.create) > 0 {
			c.refreshLeases()
		}
		s.begin(c, func() { s.streamDone(c, p.fullyRead) })
	})
	for _, r := range p.remove {
		c.writeLease(&leaseWrite{reason: removeLease, row: r})
	}
	for _, child := range p.belowParent {
		c.logOnce("below "+child.ID, slog.LevelError, StoppedChildBelowParent,
			slog.String("stream", arn), slog.String("child", child.ID), slog.String("start", child.First))
		c.unbegunShards[child.ID] = unbegunShard{arn, StoppedChildBelowParent}
	}
	for _, child := range p.unreadAncestors {
		s.noteUnknown(c, "a shard has no lease, and its children were not begun: nobody knows whether it was read to its end",
			unknownIn(arn, child.ID), func() {}) // the sync does not wait until the gap is stored
	}
	for _, l := range p.create {
		if ownsCreated {
			l.Owner = c.options.ID
		}
		s.writesLeft++
		c.createLease(&leaseWrite{reason: makeLease, next: l, done: func(err error) { s.writeEnded(c, err) }})
	}
	for _, l := range p.unknownGap {
		s.writesLeft++
		s.createAfterUnknownGap(c, l)
	}
	s.writeEnded(c, nil)
}

// createAfterUnknownGap notes that records before a shard may be lost, and then creates its lease, unless gaps stop the
// reading.
func (s *leaseSync) createAfterUnknownGap(c *Coordinator, l leases.Lease) {
	g := unknownIn(s.stream.arn, l.Shard)
	if created, ok := shardreader.ShardTime(l.Shard); ok && !l.From.IsZero() {
		g.From, g.To = l.From, second(created)
	}
	const text = "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost"
	s.noteUnknown(c, text, g, func() {
		if c.options.OnGap == Stop {
			c.unbegunShards[l.Shard] = unbegunShard{g.StreamARN, StoppedUnbegun}
			s.writeEnded(c, nil)
			return
		}
		c.createLease(&leaseWrite{reason: makeLease, next: l, done: func(err error) { s.writeEnded(c, err) }})
	})
}

// unbegunShard is a shard that is not begun, with the reason. Usually records before it may be lost.
type unbegunShard struct{ stream, reason string }

// unknownIn returns a gap of unknown extent in a shard.
func unknownIn(stream, shard string) record.Gap {
	return record.Gap{StreamARN: stream, Shard: shard, UnknownExtent: true}
}

// gapBetween returns the gap before a stream that follows a stream that was read. The table had no stream between the
// two, so neither stream has the changes of that time.
func (c *Coordinator) gapBetween(st *stream) record.Gap {
	g := record.Gap{StreamARN: st.arn, UnknownExtent: true}
	table := shardreader.StreamFromARN(st.arn).Table
	for _, r := range c.table.rows.all() {
		lastRead := r.Time.Truncate(time.Second)
		if lastRead.After(g.From) && shardreader.StreamFromARN(r.Stream).Table == table {
			g.From = lastRead
		}
	}
	if enabled, err := time.Parse("2006-01-02T15:04:05.000", st.label); err == nil {
		g.To = enabled.Truncate(time.Second)
	}
	return g
}

// noteUnknown notes and logs that records may be lost, before a shard or between two streams. It does so once for each
// shard or stream. Then it calls done.
func (s *leaseSync) noteUnknown(c *Coordinator, text string, g record.Gap, done func()) {
	topic := "unknown " + cmp.Or(g.Shard, g.StreamARN)
	if c.logged[topic] {
		done()
		return
	}
	c.noteGap(&gapNote{gap: g, wanted: c.isRunning, done: func() {
		attrs := []slog.Attr{slog.String("stream", g.StreamARN)}
		if g.Shard != "" {
			attrs = append(attrs, shardAttr(g.Shard))
		}
		c.logOnce(topic, slog.LevelError, text, attrs...)
		done()
	}})
}
