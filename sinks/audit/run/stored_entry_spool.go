package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// segment is a part of a sink's contents. Several segments are listed concurrently. If the reading of a segment is
// interrupted, the segment is read again, and the new reading has another number.
type segment struct {
	sink, number int
	reading      int // number of this reading, unique in the audit
}

func (s segment) name() string { return fmt.Sprintf("%d/%d", s.sink, s.number) }

// listedEntries are some entries of one reading of a segment.
type listedEntries struct {
	segment       segment
	entries       []audit.Entry
	lastOfSegment bool
}

// unreadSegments returns the segments that were not read to their ends, each with the number of a new reading.
func (a *auditRun) unreadSegments() (unread []segment) {
	for sink := range a.o.Sinks {
		for _, number := range a.segments() {
			s := segment{sink: sink, number: number}
			if wasRead := a.work.Read[s.name()] != 0; wasRead {
				continue
			}
			a.work.Reads++
			s.reading = a.work.Reads
			unread = append(unread, s)
		}
	}
	return unread
}

// entriesPerBatch is the number of listed entries that are sent together to the goroutine that spools them.
const entriesPerBatch = 256

// spoolStored spools the stored entries of the sinks. It reads a segment again from its start if the reading of the
// segment was interrupted. The join then ignores the entries of the interrupted reading. Otherwise a contribution to a
// group would count twice.
func (a *auditRun) spoolStored(ctx context.Context, entries *spool) error {
	unread := a.unreadSegments()
	if err := a.checkpoint(entries, &a.work.Entries); err != nil {
		return err
	}
	var buf []byte
	counts := make(map[int]int64) // numbers of entries, by reading
	return readAll(ctx, a.o.Parts, unread, a.list, func(l listedEntries) error {
		s := l.segment
		for i := range l.entries {
			if !l.entries[i].Share {
				counts[s.reading]++
			}
			e := spooledEntry{Entry: l.entries[i], sink: s.sink, stored: true, reading: s.reading, unjoined: a.o.Sample != nil}
			buf = e.appendTo(buf[:0])
			if err := entries.add(e.hash(), buf); err != nil {
				return err
			}
		}
		a.storedCount += int64(len(l.entries))
		a.progress.Update(a.storedCount, a.work.Tally.requiredEntries())
		if l.lastOfSegment {
			a.work.Read[s.name()] = s.reading
			a.work.Tally.Sinks[s.sink].Stored += counts[s.reading]
		}
		return a.checkpointIfDue(entries, &a.work.Entries)
	})
}

// segments returns the numbers of the segments that the audit reads from each sink.
func (a *auditRun) segments() []int {
	if a.o.Sample != nil {
		return a.o.Sample.Segments
	}
	all := make([]int, a.o.Segments)
	for i := range all {
		all[i] = i
	}
	return all
}

// listing returns the listing of a segment of a sink, limited by the budget.
func (a *auditRun) listing(number int) state.Listing {
	l := a.o.Budget.listing()
	l.Segment, l.Segments = number, a.o.Segments
	if a.o.Sample != nil {
		l.Segments = a.o.Sample.Of
	}
	return l
}

// list reads a segment to its end, and sends its entries to listed.
func (a *auditRun) list(ctx context.Context, s segment, listed chan<- listedEntries) error {
	batch := make([]audit.Entry, 0, entriesPerBatch)
	a.o.WaitForStream(ctx)
	for e, err := range a.o.Sinks[s.sink].StoredEntries(ctx, a.listing(s.number)) {
		if err != nil {
			return fmt.Errorf("%s: %w", a.o.Sinks[s.sink].Name(), err)
		}
		batch = append(batch, e)
		if len(batch) < entriesPerBatch {
			continue
		}
		if !send(ctx, listed, listedEntries{segment: s, entries: slices.Clone(batch)}) {
			return context.Cause(ctx)
		}
		batch = batch[:0]
		a.o.WaitForStream(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	send(ctx, listed, listedEntries{segment: s, entries: batch, lastOfSegment: true})
	return nil
}

// EachStored calls do with each stored entry of o.Sinks[sink]. It blocks while it reads.
func EachStored(ctx context.Context, o Options, sink int, do func(audit.Entry) error) error {
	o.setDefaults()
	a := auditRun{o: o}
	var segments []segment
	for _, number := range a.segments() {
		segments = append(segments, segment{sink: sink, number: number})
	}
	return readAll(ctx, o.Parts, segments, a.list, func(l listedEntries) error {
		for _, e := range l.entries {
			if err := do(e); err != nil {
				return err
			}
		}
		return nil
	})
}
