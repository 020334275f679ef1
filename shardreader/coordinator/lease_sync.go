package coordinator

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// newStreamEvery is the longest time between two leaseSyncs if all leases of a source have ended. A new stream may then
// replace the stream that was read to its end.
const newStreamEvery = 15 * time.Second

// leaseSync compares the leases with the listed streams, one source after the other. Only the leading consumer runs a
// leaseSync. Each step makes a call, and the method that handles the answer begins the next step. The steps for a
// source:
//   - beginSource lists the streams (handleStreams), and noteBegun reads from the lease table which streams were begun.
//   - nameStream lists each stream (handleUnnamed). The leases that another application created name no stream, so
//     nameLeases writes the ARN of the stream into them (handleNamed).
//   - listStream lists each stream once more (handleListing), beginning with the first stream that is read. It then
//     reads the lease table again, because other consumers may have made leases since. planStream plans the leases,
//     and apply writes the plan (handleCreated).
//   - endSource continues with the next source.
//
// A stream is begun only after the stream before it was read to its end. So the changes of an item keep their order if
// the table's stream is switched off and on.
type leaseSync struct {
	c           *Coordinator
	sourceIndex int // index in Coordinator.sources
	source      *source
	streamIndex int // index in the source's streams
	stream      *stream
	start       Start // start of the stream
	plan        leasePlan
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
	c.syncs.running = &leaseSync{c: c, nextIn: c.options.SyncEvery}
	c.syncs.running.beginSource()
}

// beginSource begins the work for the next source, or ends the leaseSync after the last source.
func (s *leaseSync) beginSource() {
	c := s.c
	if s.sourceIndex == len(c.sources) {
		c.syncs.running = nil
		c.syncs.succeeded = c.syncs.succeeded || !s.failed
		c.syncIn(s.nextIn)
		return
	}
	s.source = c.sources[s.sourceIndex]
	c.findStreams(s.source, s.handleStreams)
}

// handleStreams handles the result of the search for the source's streams.
func (s *leaseSync) handleStreams(err error) {
	if err != nil {
		s.endSource(err)
		return
	}
	// This refresh shows which streams are begun. The leases are planned with a later refresh. So a stream that counts
	// as begun has leases there, or had leases.
	s.c.afterRefresh(s.noteBegun)
}

// endSource ends the work for a source, and begins the next source. err is nil if the work is complete.
func (s *leaseSync) endSource(err error) {
	c := s.c
	if err != nil {
		s.failed = true
		c.logOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
		requestedWait, _ := pipeline.Retryable(err)
		s.nextIn = min(s.nextIn, max(2*time.Second, requestedWait))
	} else {
		delete(c.logged, "sync")
	}
	hasUnended := c.table.rows.any(func(r *row) bool { return !r.Ended() && c.belongs(r, s.source) })
	if !hasUnended {
		s.nextIn = min(s.nextIn, newStreamEvery)
	}
	s.sourceIndex++
	s.beginSource()
}

// noteBegun notes which streams are begun, as the lease table says.
func (s *leaseSync) noteBegun() {
	for _, st := range s.source.streams {
		st.begun = s.c.table.begunStreams[st.arn]
	}
	s.nameStream(0)
}

// nameStream lists the stream at index, so that its ARN can be written into the leases of another application. After
// the last stream, or if every lease names its stream, the leases are planned.
func (s *leaseSync) nameStream(index int) {
	c := s.c
	s.streamIndex = index
	if index == len(s.source.streams) || !c.hasForeignLeases(s.source) {
		s.planFirstStream()
		return
	}
	s.stream = s.source.streams[index]
	if s.stream.unlisted {
		s.nameLeases(nil)
		return
	}
	c.list(s.stream.arn, c.isRunning, s.handleUnnamed)
}

// handleUnnamed handles the listing of a stream whose leases may name no stream. The stream may be gone: l is nil then.
func (s *leaseSync) handleUnnamed(l *listing, err error) {
	if err != nil && !errors.Is(err, shardreader.ErrNotFound) {
		s.endSource(err)
		return
	}
	s.nameLeases(l)
}

// nameLeases marks the stream as begun, and then writes its ARN into its leases that name no stream. l is nil if the
// stream is not listed.
func (s *leaseSync) nameLeases(l *listing) {
	rows := s.unnamedRows(l)
	if len(rows) == 0 {
		s.handleNamed(nil)
		return
	}
	s.markBegun(func() {
		writes := newWriteGroup(s.handleNamed)
		for _, r := range rows {
			next := r.Clone()
			next.Stream = s.stream.arn
			if r.Checkpoint.Kind == leases.TrimHorizon && l != nil {
				// If the stream drops unread records later, First shows that they are missing.
				next.First = l.shard(r.Shard).First
			}
			s.c.writeLease(&leaseWrite{reason: nameStream, row: r, next: next, done: writes.add()})
		}
		writes.end(nil)
	})
}

// handleNamed continues after the leases of a stream name it. err is nil if all of them do.
func (s *leaseSync) handleNamed(err error) {
	if err != nil {
		s.endSource(err)
		return
	}
	s.nameStream(s.streamIndex + 1)
}

// unnamedRows returns the leases that name no stream and belong to the stream. A lease belongs to the stream that lists
// its shard. If no stream lists the shard, the lease belongs to the newest stream.
func (s *leaseSync) unnamedRows(l *listing) (rows []*row) {
	isNewest := s.streamIndex == len(s.source.streams)-1
	for _, r := range s.c.table.rows.all() {
		isOfStream := l.has(r.Shard) || isNewest && !r.Ended()
		if r.Stream == "" && isOfStream && s.c.belongs(r, s.source) && !r.busy {
			rows = append(rows, r)
		}
	}
	return rows
}

// markBegun marks the stream as begun, and calls done once the mark is durable. The mark says that all first leases of
// the stream exist. If a lease is missing and the stream has no mark, no records were lost: the consumer that created
// the other leases crashed before it had created all of them.
func (s *leaseSync) markBegun(done func()) {
	if s.stream.begun {
		done()
		return
	}
	s.c.emit(MarkBegun{newCall(s.c, func(e WriteResult) {
		if e.Err != nil {
			s.endSource(e.Err)
			return
		}
		s.stream.begun = true
		done()
	}), s.stream.arn})
}

// planFirstStream continues with the first stream that is read.
func (s *leaseSync) planFirstStream() {
	s.streamIndex, s.start = s.c.firstBegun(s.source), s.c.options.Start
	if s.source.streams[s.streamIndex].begun {
		s.start = Start{}
	}
	s.listStream()
}

// endStream ends the work for a stream. fullyRead reports whether the stream was read to its end. Only then does the
// next stream follow.
func (s *leaseSync) endStream(fullyRead bool) {
	if !fullyRead {
		s.endSource(nil)
		return
	}
	s.streamIndex++
	s.start = Start{}
	s.listStream()
}

// listStream lists the stream and plans its leases. An unlisted stream has no new shards.
func (s *leaseSync) listStream() {
	c := s.c
	if s.streamIndex == len(s.source.streams) {
		s.endSource(nil)
		return
	}
	if c.wasOlderBegun(s.source, s.streamIndex) {
		s.start = Start{following: true}
	}
	s.stream = s.source.streams[s.streamIndex]
	if s.stream.unlisted {
		s.endUnlisted()
		return
	}
	c.list(s.stream.arn, c.isRunning, s.handleListing)
}

// handleListing handles the listing of the stream whose leases are planned.
func (s *leaseSync) handleListing(l *listing, err error) {
	switch {
	case errors.Is(err, shardreader.ErrNotFound):
		s.stream.unlisted = true
		s.endUnlisted()
	case err != nil:
		s.endSource(err)
	default:
		s.c.afterRefresh(func() { s.planStream(l) })
	}
}

// endUnlisted ends the work for a stream that is no longer listed. None of its shards can be begun any more.
func (s *leaseSync) endUnlisted() {
	s.forgetUnbegun(nil)
	s.endStream(s.c.allRead(s.stream))
}

// planStream plans the leases of a listed stream, and writes the plan once the gap before the stream is noted.
func (s *leaseSync) planStream(l *listing) {
	c := s.c
	s.plan = c.planLeases(s.stream.arn, l, !s.stream.begun, s.start)
	s.forgetUnbegun(s.plan.unleasedShards())
	if !s.start.following || c.isBegun(s.stream) {
		s.apply()
		return
	}
	const text = "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what"
	c.noteUnknown(text, c.gapBetween(s.stream), s.passStreamGap)
}

// passStreamGap continues after the gap before the stream is noted. Unless Options.OnGap is Continue, the shards of the
// stream are not begun. If an operator creates a lease of the stream, the stream is read nevertheless.
func (s *leaseSync) passStreamGap() {
	if s.c.options.OnGap == Continue {
		s.apply()
		return
	}
	unread := slices.Concat(s.plan.create, s.plan.unknownGap)
	for _, lease := range unread {
		s.c.unbegunShards[lease.Shard] = unbegunShard{s.stream.arn, StoppedBetweenStreams}
	}
	s.endStream(s.plan.fullyRead && len(unread) == 0) // an emptied stream does not stop the next one
}

// forgetUnbegun removes the stream's unbegun shards except those that still have no lease and should have one. The
// stream has dropped the others, or a descendant of them has a lease now.
func (s *leaseSync) forgetUnbegun(unleased []string) {
	stays := make(map[string]bool)
	for _, shard := range unleased {
		stays[shard] = true
	}
	maps.DeleteFunc(s.c.unbegunShards, func(shard string, u unbegunShard) bool {
		return u.stream == s.stream.arn && !stays[shard]
	})
}

// apply writes the plan: it creates missing leases, and removes leases that are no longer needed.
func (s *leaseSync) apply() {
	c, p, arn := s.c, s.plan, s.stream.arn
	ownsCreated := len(c.liveConsumers()) == 1 && c.heartbeatFresh()
	for _, r := range p.remove {
		c.writeLease(&leaseWrite{reason: removeLease, row: r})
	}
	for _, child := range p.belowParent {
		c.logOnce("below "+child.ID, slog.LevelError, StoppedChildBelowParent,
			slog.String("stream", arn), slog.String("child", child.ID), slog.String("start", child.First))
		c.unbegunShards[child.ID] = unbegunShard{arn, StoppedChildBelowParent}
	}
	for _, child := range p.unreadAncestors {
		c.noteUnknown("a shard has no lease, and its children were not begun: nobody knows whether it was read to its end",
			unknownIn(arn, child.ID), func() {}) // the sync does not wait until the gap is stored
	}
	creations := newWriteGroup(s.handleCreated)
	for _, l := range p.create {
		if ownsCreated {
			l.Owner = c.options.ID
		}
		c.createLease(&leaseCreation{lease: l, done: creations.add()})
	}
	for _, l := range p.unknownGap {
		s.createAfterUnknownGap(l, creations.add())
	}
	creations.end(nil)
}

// handleCreated continues after the missing leases were created. err is nil if all of them exist now.
func (s *leaseSync) handleCreated(err error) {
	if err != nil {
		s.endSource(err)
		return
	}
	if len(s.plan.create) > 0 {
		s.c.refreshLeases()
	}
	s.markBegun(func() { s.endStream(s.plan.fullyRead) })
}

// createAfterUnknownGap notes that records before a shard may be lost. Then it creates the shard's lease, unless
// Options.OnGap is Stop.
func (s *leaseSync) createAfterUnknownGap(l leases.Lease, done func(error)) {
	c := s.c
	g := unknownIn(s.stream.arn, l.Shard)
	if created, ok := shardreader.ShardTime(l.Shard); ok && !l.From.IsZero() {
		g.From, g.To = l.From, second(created)
	}
	const text = "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost"
	c.noteUnknown(text, g, func() {
		if c.options.OnGap == Stop {
			c.unbegunShards[l.Shard] = unbegunShard{g.StreamARN, StoppedUnbegun}
			done(nil)
			return
		}
		c.createLease(&leaseCreation{lease: l, done: done})
	})
}

// unbegunShard is a shard that is not begun, with the reason. Usually records before it may be lost.
type unbegunShard struct{ stream, reason string }

// unknownIn returns a gap of unknown extent in a shard.
func unknownIn(stream, shard string) record.Gap {
	return record.Gap{StreamARN: stream, Shard: shard, UnknownExtent: true}
}

// gapBetween returns the gap before a stream that follows a stream that was read. After the first stream ended and
// before the second was enabled, the table had no stream. So no stream has the changes of that time.
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
func (c *Coordinator) noteUnknown(text string, g record.Gap, done func()) {
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
