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
// leaseSync. Each step makes a call, and the function that handles the result begins the next step. The steps for a
// source:
//   - beginSource lists the streams, and reads from the lease table which streams were begun.
//   - nameLeases lists each stream. The leases that another application created name no stream, so its ARN is written
//     into them.
//   - planStreams lists each stream once more, beginning with the first stream that is read. It then reads the lease
//     table again, because other consumers may have made leases since. streamSync.plan plans the leases, and
//     streamSync.apply writes the plan.
//   - endSource continues with the next source.
//
// A stream is begun only after the stream before it was read to its end. So the changes of an item keep their order if
// the table's stream is switched off and on.
type leaseSync struct {
	c           *Coordinator
	sourceIndex int // index in Coordinator.sources
	source      *source
	nextIn      time.Duration // time from this leaseSync to the next one
	failed      bool
}

// streamSync is the part of a leaseSync that plans the leases of one stream.
type streamSync struct {
	*leaseSync
	stream *stream
	start  Start
	next   int // index of the next stream in the source's streams
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
	// Begun marks are read before the leases that the plan is made from. So a stream that counts as begun has leases
	// there, or had leases.
	c.findStreams(s.source, s.then(func() { c.afterRefresh(s.noteBegun) }))
}

// noteBegun notes which streams of the source are begun, and continues with the leases that name no stream.
func (s *leaseSync) noteBegun() {
	for _, st := range s.source.streams {
		st.begun = s.c.table.begunStreams[st.arn]
	}
	s.nameLeases(0)
}

// then returns a function that calls next if err is nil. Otherwise the function ends the work for the source.
func (s *leaseSync) then(next func()) func(err error) {
	return func(err error) {
		if err != nil {
			s.endSource(err)
			return
		}
		next()
	}
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

// nameLeases writes the ARN of each stream from index on into its leases that name no stream. After the last stream, or
// if every lease names its stream, the leases are planned.
func (s *leaseSync) nameLeases(index int) {
	c := s.c
	if index == len(s.source.streams) || !c.hasForeignLeases(s.source) {
		s.planFirstStream()
		return
	}
	st := s.source.streams[index]
	if st.unlisted {
		s.nameLeasesOf(index, nil)
		return
	}
	c.list(st.arn, c.isRunning, func(l *listing, err error) {
		isGone := errors.Is(err, shardreader.ErrNotFound)
		if err != nil && !isGone {
			s.endSource(err)
			return
		}
		s.nameLeasesOf(index, l) // a stream that is gone may have leases; l is nil then
	})
}

// nameLeasesOf marks the stream at index as begun, and then writes its ARN into its leases that name no stream. l is
// nil if the stream is not listed.
func (s *leaseSync) nameLeasesOf(index int, l *listing) {
	st := s.source.streams[index]
	rows := s.unnamedRows(index, l)
	if len(rows) == 0 {
		s.nameLeases(index + 1)
		return
	}
	s.markBegun(st, func() {
		written := collectErrors(len(rows), s.then(func() { s.nameLeases(index + 1) }))
		for _, r := range rows {
			next := r.Clone()
			next.Stream = st.arn
			if r.Checkpoint.Kind == leases.TrimHorizon && l != nil {
				// If the stream drops unread records later, First shows that they are missing.
				next.First = l.shard(r.Shard).First
			}
			s.c.writeLease(&leaseWrite{row: r, next: next, ended: written})
		}
	})
}

// unnamedRows returns the leases that name no stream and belong to the stream at index. A lease belongs to the stream
// that lists its shard. If no stream lists the shard, the lease belongs to the newest stream.
func (s *leaseSync) unnamedRows(index int, l *listing) (rows []*row) {
	isNewest := index == len(s.source.streams)-1
	for _, r := range s.c.table.rows.all() {
		isOfStream := l.has(r.Shard) || isNewest && !r.Ended()
		if r.Stream == "" && isOfStream && s.c.belongs(r, s.source) && !r.busy {
			rows = append(rows, r)
		}
	}
	return rows
}

// markBegun marks a stream as begun, and calls done once the mark is durable. The mark says that all first leases of
// the stream exist. Without the mark, a missing lease does not mean that records were lost: the consumer that created
// the other leases crashed before it had created all of them.
func (s *leaseSync) markBegun(st *stream, done func()) {
	if st.begun {
		done()
		return
	}
	marked := s.then(func() {
		st.begun = true
		done()
	})
	s.c.emit(MarkBegun{newCall(s.c, func(e WriteResult) { marked(e.Err) }), st.arn})
}

// planFirstStream continues with the first stream that is read.
func (s *leaseSync) planFirstStream() {
	first, start := s.c.firstBegun(s.source), s.c.options.Start
	if s.source.streams[first].begun {
		start = Start{}
	}
	s.planStreams(first, start)
}

// planStreams lists the stream at index and plans its leases. The next stream follows only if this one is read to its
// end. An unlisted stream has no new shards.
func (s *leaseSync) planStreams(index int, start Start) {
	c := s.c
	if index == len(s.source.streams) {
		s.endSource(nil)
		return
	}
	if c.wasOlderBegun(s.source, index) {
		start = Start{following: true}
	}
	st := &streamSync{leaseSync: s, stream: s.source.streams[index], start: start, next: index + 1}
	if st.stream.unlisted {
		st.endUnlisted()
		return
	}
	c.list(st.stream.arn, c.isRunning, func(l *listing, err error) {
		switch {
		case errors.Is(err, shardreader.ErrNotFound):
			st.stream.unlisted = true
			st.endUnlisted()
		case err != nil:
			s.endSource(err)
		default:
			c.afterRefresh(func() { st.plan(l) })
		}
	})
}

// end ends the work for the stream. fullyRead reports whether the stream was read to its end. Only then does the next
// stream follow.
func (s *streamSync) end(fullyRead bool) {
	if !fullyRead {
		s.endSource(nil)
		return
	}
	s.planStreams(s.next, Start{})
}

// endUnlisted ends the work for a stream that is no longer listed. None of its shards can be begun any more.
func (s *streamSync) endUnlisted() {
	s.forgetUnbegun(nil)
	s.end(s.c.allRead(s.stream))
}

// plan plans the leases of a listed stream, and writes the plan once the gap before the stream is noted. If the stream
// follows one that was read, its shards are begun only if Options.OnGap is Continue. If an operator creates a lease of
// the stream, the stream is read nevertheless.
func (s *streamSync) plan(l *listing) {
	c := s.c
	plan := c.planLeases(s.stream.arn, l, !s.stream.begun, s.start)
	s.forgetUnbegun(plan.unleasedShards())
	if !s.start.following || c.isBegun(s.stream) {
		s.apply(plan)
		return
	}
	const text = "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what"
	c.noteUnknown(text, c.gapBetween(s.stream), func() { s.applyAfterGap(plan) })
}

// applyAfterGap writes the plan of a stream with a gap before it. If Options.OnGap is Stop, it creates no lease, and
// notes the shards as unbegun.
func (s *streamSync) applyAfterGap(p leasePlan) {
	if s.c.options.OnGap == Continue {
		s.apply(p)
		return
	}
	unread := slices.Concat(p.create, p.createAfterGap)
	for _, lease := range unread {
		s.c.unbegunShards[lease.Shard] = unbegunShard{s.stream.arn, StoppedBetweenStreams}
	}
	s.end(p.fullyRead && len(unread) == 0) // an emptied stream does not stop the next one
}

// forgetUnbegun removes the stream's unbegun shards that need no lease any more: the stream has dropped them, or a
// descendant of them has a lease. unleased has the shards that need a lease.
func (s *streamSync) forgetUnbegun(unleased []string) {
	stays := make(map[string]bool)
	for _, shard := range unleased {
		stays[shard] = true
	}
	maps.DeleteFunc(s.c.unbegunShards, func(shard string, u unbegunShard) bool {
		return u.stream == s.stream.arn && !stays[shard]
	})
}

// apply writes the plan: it removes leases that are no longer needed, and creates missing leases.
func (s *streamSync) apply(p leasePlan) {
	c := s.c
	ownsCreated := len(c.liveConsumers()) == 1 && c.heartbeatFresh()
	for _, r := range p.remove {
		c.removeLease(r)
	}
	s.reportUnread(p)
	created := collectErrors(len(p.create)+len(p.createAfterGap), s.then(func() {
		if len(p.create) > 0 {
			c.refreshLeases()
		}
		s.markBegun(s.stream, func() { s.end(p.fullyRead) })
	}))
	for _, l := range p.create {
		if ownsCreated {
			l.Owner = c.options.ID
		}
		c.createLease(&leaseCreation{lease: l, done: created})
	}
	for _, l := range p.createAfterGap {
		s.createAfterNotedGap(l, created)
	}
}

// removeLease removes a lease from the table.
func (c *Coordinator) removeLease(r *row) {
	c.writeLease(&leaseWrite{row: r, removes: true, written: func() {
		if c.isKnown(r) {
			c.removeRow(r)
		}
	}})
}

// reportUnread reports the shards that get no lease although they may be unread.
func (s *streamSync) reportUnread(p leasePlan) {
	c, arn := s.c, s.stream.arn
	for _, child := range p.belowParent {
		c.logOnce("below "+child.ID, slog.LevelError, StoppedChildBelowParent,
			slog.String("stream", arn), slog.String("child", child.ID), slog.String("start", child.First))
		c.unbegunShards[child.ID] = unbegunShard{arn, StoppedChildBelowParent}
	}
	for _, ancestor := range p.unreadAncestors {
		c.noteUnknown("a shard has no lease, and its children were not begun: nobody knows whether it was read to its end",
			unknownIn(arn, ancestor.ID), func() {}) // the sync does not wait until the gap is stored
	}
}

// createAfterNotedGap notes that records before a shard may be lost. Then it creates the shard's lease, unless
// Options.OnGap is Stop.
func (s *streamSync) createAfterNotedGap(l leases.Lease, done func(error)) {
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

// unbegunShard is the reason why a shard of a stream is not begun.
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
