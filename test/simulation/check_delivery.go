package simulation

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// recordsOf returns the records of a page, in the order of the page.
func (w *world) recordsOf(page *pipeline.Page) []*streamRecord {
	recs := make([]*streamRecord, 0, len(page.Changes)+len(page.Errors))
	errs := page.Errors
	for i := range page.Changes {
		for len(errs) > 0 && errs[0].Index < int(page.Changes[i].Index) {
			recs, errs = append(recs, w.bySeq[errs[0].Sequence]), errs[1:]
		}
		recs = append(recs, w.bySeq[page.Changes[i].Sequence])
	}
	for _, e := range errs {
		recs = append(recs, w.bySeq[e.Sequence])
	}
	return recs
}

// checkDelivered checks that a worker may deliver a page. It returns the partition of the page, or nil if the page must
// not be taken.
func (w *world) checkDelivered(p *process, page *pipeline.Page) *partition {
	recs := w.recordsOf(page)
	if slices.Contains(recs, nil) {
		w.broken("records are real", "%s delivers a page of %s in which a record is not one of the stream's", p.id, page.Partition)
		return nil
	}
	part := p.pipe.parts[page.Partition]
	if part == nil {
		part = &partition{name: page.Partition}
		p.pipe.parts[page.Partition] = part
	}
	switch {
	case part.revoked:
		w.broken("nothing is delivered of a partition that was taken away", "%s delivers %d records of %s", p.id, len(recs), part.name)
		return nil
	case part.ended:
		w.broken("a partition ends once", "%s delivers %d records of %s behind its end", p.id, len(recs), part.name)
		return nil
	}
	part.ended = page.End
	for _, r := range recs {
		if part.shard == nil {
			part.shard = r.shard
			p.pipe.order = append(p.pipe.order, part)
			w.checkParents(p, r.shard)
			w.checkStream(p, r.shard)
		}
		if r.shard != part.shard {
			w.broken("a partition is of one shard", "%s delivers %v #%d as %s", p.id, r.shard, r.index, part.name)
			return nil
		}
		w.checkNext(p, part, r)
		part.next = r.index + 1
		part.delivered = append(part.delivered, r)
		w.count(r)
	}
	if len(recs) > 0 {
		last := recs[len(recs)-1]
		p.checkPassed(last.shard)
		w.checkPosition(p, page, last)
		w.checkStopped(p, last)
	}
	return part
}

// checkPosition checks that the position of a page is that of its last record, or of a later one if the records up to
// that are exempt.
func (w *world) checkPosition(p *process, page *pipeline.Page, last *streamRecord) {
	got, rest := string(page.Position), last.shard.records[last.index:]
	if page.End && got == "END" || rest[0].seq == got {
		return
	}
	for _, r := range rest[1:] {
		if !r.exempt {
			break
		}
		if r.seq == got {
			return
		}
	}
	w.broken("a page's position is its last record's", "%s delivers %s up to #%d with position %s",
		p.id, page.Partition, last.index, got)
}

// count counts a delivered record.
func (w *world) count(r *streamRecord) {
	w.tally.Delivered++
	if s := r.shard; s.parent != nil {
		w.tally.Children++
	}
	if r.shard.stream.late {
		w.tally.Followed++
	}
	if r.broken {
		w.tally.Undecodable++
	}
	if r.index > 0 && r.shard.records[r.index-1].noted {
		w.tally.BehindGap++
	}
}

// checkNext checks that the records of a partition come once and in order, and that no needed record is omitted.
func (w *world) checkNext(p *process, part *partition, r *streamRecord) {
	if r.index < part.next {
		w.broken("a partition's records come in order, once", "%s delivers %v #%d of %s behind #%d",
			p.id, r.shard, r.index, part.name, part.next-1)
		return
	}
	w.advance(r.shard)
	for i := max(part.next, r.shard.fine); i < r.index; i++ {
		if o := r.shard.records[i]; !o.fine() {
			w.broken("no record is left out", "%s delivers %v #%d, and #%d was not delivered before it (%s)", p.id, r.shard, r.index, i, o.state())
			return
		}
	}
}

// checkParents checks that the records of a child come after every record of its parents is durable.
func (w *world) checkParents(p *process, s *shard) {
	if s.parent == nil || w.whole(s.parent) {
		return
	}
	for a := s.parent; a != nil; a = a.parent {
		w.advance(a)
		if a.fine < len(a.records) {
			r := a.records[a.fine]
			w.broken("a child comes after its parents", "%s delivers records of %v before #%d of %v is durable (%s)", p.id, s, r.index, a, r.state())
			return
		}
	}
}

// checkStream checks that the records of a stream come after every record of the stream that it replaced.
func (w *world) checkStream(p *process, s *shard) {
	switch {
	case s.stream.held:
		w.broken("a gap stops its shard", "%s delivers records of %v behind the gap before its stream", p.id, s)
	case s.stream.late && !s.stream.noted:
		w.broken("between two streams there is a gap", "%s delivers records of %v, and nothing is noted between its stream and the one before it", p.id, s)
	}
	for _, o := range w.shards {
		isOfEarlierStream := o.stream.table == s.stream.table && o.stream != s.stream && o.n < s.n
		if isOfEarlierStream && !w.whole(o) {
			w.broken("a stream comes after the one before it", "%s delivers records of %v before all of %v is durable", p.id, s, o)
			return
		}
	}
}

// checkStopped checks that nothing after a gap is delivered if the gap must stop the shard.
func (w *world) checkStopped(p *process, last *streamRecord) {
	if w.plan.Shape.OnGap != coordinator.Stop {
		return
	}
	for s := last.shard; s != nil; s = s.parent {
		isAfterGap := s != last.shard || record.CompareSequence(last.seq, s.stopAfter) > 0
		if s.stopped && isAfterGap {
			w.broken("a gap stops its shard", "%s delivers %v #%d behind the gap of %v", p.id, last.shard, last.index, s)
		}
	}
}

// advance sets s.fine to the index of the first record that is not fine.
func (w *world) advance(s *shard) {
	for s.fine < len(s.records) && s.records[s.fine].fine() {
		s.fine++
	}
}

// whole reports whether a shard and its ancestors are closed, and all of their records are fine.
func (w *world) whole(s *shard) bool {
	if s == nil || s.whole {
		return true
	}
	w.advance(s)
	s.whole = s.closed && s.fine == len(s.records) && w.whole(s.parent)
	return s.whole
}

// state returns the reason why a record is still needed.
func (r *streamRecord) state() string {
	text := "kept by the stream"
	if r.trimmed {
		text = "trimmed"
	}
	if r.durable == 0 {
		return text + ", in no sink"
	}
	return text + ", in some sinks"
}

// checkSent checks that writes stop when another process may own the lease.
func (w *world) checkSent(p *process, wr *write, sink int) {
	s := wr.rec.shard
	if w.now < p.resumed+time.Second && p.resumed > 0 {
		return // the process may not have noticed yet that it was paused
	}
	if o := s.row.owner; s.row.there && o != p.id && o != "" && w.running(o) {
		w.broken("who lost a lease writes no more", "%s sends %v #%d to sink %d, and the lease is owned by %s", p.id, s, wr.rec.index, sink, o)
	}
}

// running reports whether a process exists.
func (w *world) running(id string) bool {
	for _, p := range w.procs {
		if p.id == id {
			return !p.dead
		}
	}
	return false
}

// checkCheckpoint checks that all records up to the checkpoint in the table are durable in every sink.
func (w *world) checkCheckpoint(p *process, s *shard) {
	w.advance(s)
	c := s.row.checkpoint
	switch c.Kind {
	case leases.ShardEnd:
		switch {
		case s.fine < len(s.records):
			r := s.records[s.fine]
			w.broken("no acknowledgement before it is durable", "%s checkpoints %v at its end, and #%d is not durable (%s)", p.id, s, r.index, r.state())
		case !s.closed:
			w.broken("a shard ends when the stream says so", "%s checkpoints %v at its end, and it is open", p.id, s)
		}
	case leases.Sequence:
		if s.fine < len(s.records) && s.row.covers(s.records[s.fine]) {
			r := s.records[s.fine]
			w.broken("no acknowledgement before it is durable", "%s checkpoints %v at %s, and #%d is not durable (%s)", p.id, s, c.Sequence, r.index, r.state())
		}
	}
}
