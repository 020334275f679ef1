package handlers

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// fetchDiscarded returns the records of a batch that Lambda discarded. If the invocation record has the whole event, it
// takes the records from the event. Otherwise it takes them from the stream. losses has the ranges of records that
// neither the event nor the stream has.
func (h *handler) fetchDiscarded(
	ctx context.Context, limits deadlines, r *invocationRecord,
) (b *eventRecords, losses []lostRecords, err error) {
	var fromEvent *eventRecords // nil if the record has no event, or the event is broken
	var eventErr error          // why the event is broken
	if event := r.event(); event != nil {
		fromEvent, eventErr = h.decodeEvent(event, r.origin())
	}
	switch {
	case fromEvent != nil && r.hasSizeOf(fromEvent):
		return fromEvent, nil, nil
	case r.DynamoDB != nil:
		return h.fetchFromStream(ctx, limits, r.DynamoDB, fromEvent)
	case eventErr != nil:
		return nil, nil, eventErr
	}
	return nil, nil, errs.New(
		"the message names records of a Kinesis stream, which this handler does not read: give the event source mapping an S3 on-failure destination, which keeps the records, and read these records from the stream by hand while it keeps them")
}

// fetchFromStream returns the records of a batch from the stream. Records that the stream no longer has are taken from
// the event. incomplete has the records of the event; it may be nil.
func (h *handler) fetchFromStream(
	ctx context.Context, limits deadlines, info *batchInfo, incomplete *eventRecords,
) (b *eventRecords, losses []lostRecords, err error) {
	if h.options.streams == nil {
		return nil, nil, errs.New(
			"the message names records of a stream, and this function does not read streams: give handlers.WithStreams")
	}
	if err := info.check(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := limits.withDeadline(ctx)
	defer cancel()
	f := newRangeFetch(h.options.streams, info)
	if err := f.readRange(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return nil, nil, errs.Errorf("the records cannot be fetched from the stream now: %w", err)
	}
	f.fillFromEvent(incomplete)
	return &f.records, f.losses(), nil
}

// rangeFetch fetches the records of a discarded batch from a range of a shard.
type rangeFetch struct {
	info    *batchInfo
	records eventRecords

	fetched      int    // number of fetched records
	lastSequence string // sequence number of the newest fetched record

	cursor        shardreader.ShardCursor
	replacedCount int // number of iterators that expired or were trimmed

	mayBeTrimmed bool            // the stream has trimmed records; the next page shows which records are lost
	lostRanges   []sequenceRange // ranges that the stream has trimmed, as found so far, in order
	restIsLost   bool            // the stream has no record of the range after lastSequence
}

func newRangeFetch(api shardreader.API, info *batchInfo) *rangeFetch {
	start := shardreader.ShardPosition{
		StreamARN: info.StreamARN, Shard: info.ShardID, Type: shardreader.AtSequence, Sequence: info.First,
	}
	return &rangeFetch{info: info, cursor: shardreader.ShardCursor{API: api, Position: start}}
}

// sequenceRange is a range of sequence numbers, both ends included.
type sequenceRange struct{ first, last string }

func (r sequenceRange) contains(sequence string) bool {
	return record.CompareSequence(r.first, sequence) <= 0 && record.CompareSequence(sequence, r.last) <= 0
}

const (
	// maxEmptyPages is the number of empty pages in a row after which a fetch ends. It is high, because the service
	// also returns empty pages in the middle of a shard.
	maxEmptyPages  = 20
	emptyPagePause = 250 * time.Millisecond
	// maxReplaced is the maximum number of iterators of one fetch that expired, or whose record was trimmed.
	maxReplaced = 4
	// maxAge is the stream's retention of 24 hours, plus one hour because clocks differ.
	maxAge = 25 * time.Hour
)

// next returns the next page. The error wraps [shardreader.ErrNotFound] if the shard or the stream does not exist any
// more.
func (f *rangeFetch) next(ctx context.Context) (record.GetRecordsPage, error) {
	for {
		page, err := f.cursor.Next(ctx)
		isTrimmed := errors.Is(err, shardreader.ErrTrimmed)
		needsIterator := isTrimmed || errors.Is(err, shardreader.ErrExpiredIterator)
		if !needsIterator || f.replacedCount == maxReplaced {
			return page, err
		}
		f.replacedCount++
		if isTrimmed {
			f.mayBeTrimmed = true
			f.cursor.Restart()
		}
	}
}

// readRange reads until the end of the range or of the shard.
func (f *rangeFetch) readRange(ctx context.Context) error {
	emptyPages := 0
	for {
		page, err := f.next(ctx)
		if errors.Is(err, shardreader.ErrNotFound) {
			f.restIsLost = true
			return nil
		}
		if err != nil {
			return err
		}
		emptyPages++
		if page.Page.Len() > 0 {
			emptyPages = 0
		}
		first, last := page.Page.FirstSequence(), page.Page.LastSequence()
		f.noteTrimmed(first)
		f.keepInRange(page.Page)
		reachesEnd := last != "" && record.CompareSequence(last, f.info.Last) >= 0
		switch {
		case reachesEnd:
			return nil
		case page.Ended:
			f.restIsLost = true
			return nil
		case emptyPages > maxEmptyPages:
			f.restIsLost = f.mayBeTrimmed && f.info.isExpired(time.Now()) // the shard may never get a later record
			if !f.restIsLost {
				return errs.Errorf("%d pages in a row are empty", emptyPages)
			}
			return nil
		case emptyPages > 0:
			if pipeline.Sleep(ctx, emptyPagePause) != nil {
				return ctx.Err()
			}
		}
	}
}

// isExpired reports whether the range is so old that the stream has trimmed all its records. It returns false if the
// age of the range is unknown.
func (b *batchInfo) isExpired(at time.Time) bool { return !b.To.IsZero() && at.Sub(b.To) > maxAge }

// keepInRange adds the records of a page that are in the range and were not added before.
func (f *rangeFetch) keepInRange(page *record.Page) {
	page.DropSequences(f.isOutside)
	f.fetched += page.Len()
	f.lastSequence = cmp.Or(page.LastSequence(), f.lastSequence)
	before, rest := splitBeforeError(page)
	f.records.add(f.info.ShardID, before)
	f.records.add(f.info.ShardID, rest)
}

// isOutside reports whether a record is outside the range or was added before. A record without a sequence number
// counts as inside.
func (f *rangeFetch) isOutside(sequence string) bool {
	if sequence == "" {
		return false
	}
	isAdded := f.lastSequence != "" && record.CompareSequence(sequence, f.lastSequence) <= 0
	isInRange := sequenceRange{f.info.First, f.info.Last}.contains(sequence)
	return isAdded || !isInRange
}

// noteTrimmed adds the part of the range that the stream has trimmed to lostRanges. oldest is the sequence number of
// the first record of the next page; "" if the page is empty.
func (f *rangeFetch) noteTrimmed(oldest string) {
	if !f.mayBeTrimmed || oldest == "" {
		return
	}
	f.mayBeTrimmed = false
	newestKnown := cmp.Or(f.lastSequence, f.info.First)
	if record.CompareSequence(oldest, newestKnown) <= 0 {
		return // no record of the range is lost
	}
	lastLost := f.info.Last
	if record.CompareSequence(oldest, lastLost) <= 0 {
		lastLost = addToSequence(oldest, -1)
	}
	f.lostRanges = append(f.lostRanges, sequenceRange{f.nextSequence(), lastLost})
}

// nextSequence returns the first sequence number of the range after the fetched records.
func (f *rangeFetch) nextSequence() string {
	if f.lastSequence == "" {
		return f.info.First
	}
	return addToSequence(f.lastSequence, 1)
}

// allLostRanges returns the ranges that [rangeFetch.noteTrimmed] noted, and the rest of the range if it is lost.
func (f *rangeFetch) allLostRanges() []sequenceRange {
	hasFetchedAll := f.lastSequence != "" && record.CompareSequence(f.lastSequence, f.info.Last) >= 0
	if !f.restIsLost || hasFetchedAll {
		return f.lostRanges
	}
	return append(slices.Clip(f.lostRanges), sequenceRange{f.nextSequence(), f.info.Last})
}

// fillFromEvent adds the records of the event that are in lost ranges of the stream, in the order of the shard.
// incomplete may be nil.
func (f *rangeFetch) fillFromEvent(incomplete *eventRecords) {
	lostRanges := f.allLostRanges()
	if incomplete == nil || len(lostRanges) == 0 {
		return
	}
	fetched := f.records.pages
	f.records.pages = nil
	for _, lost := range lostRanges {
		isLater := func(p *pipeline.Page) bool {
			first := p.FirstSequence()
			return first != "" && record.CompareSequence(first, lost.last) > 0
		}
		earlier := len(fetched)
		if i := slices.IndexFunc(fetched, isLater); i >= 0 {
			earlier = i
		}
		f.records.pages = append(f.records.pages, fetched[:earlier]...)
		fetched = fetched[earlier:]
		f.addFromEvent(incomplete, lost)
	}
	f.records.pages = append(f.records.pages, fetched...)
}

// addFromEvent adds the records of the event that are in a lost range.
func (f *rangeFetch) addFromEvent(incomplete *eventRecords, lost sequenceRange) {
	for _, page := range incomplete.pages {
		part := &record.Page{Changes: slices.Clone(page.Changes), Errors: slices.Clone(page.Errors),
			Bytes: page.Bytes, EmptyMaps: page.EmptyMaps}
		part.DropSequences(func(sequence string) bool { return !lost.contains(sequence) })
		page.Bytes, page.EmptyMaps = 0, 0 // another part of the page does not count them again
		f.fetched += part.Len()
		f.records.add(f.info.ShardID, part)
	}
}

// losses returns the lost ranges with their estimated numbers of lost records. Records that the event has reduce only
// these numbers.
func (f *rangeFetch) losses() (losses []lostRecords) {
	ranges := f.allLostRanges()
	remaining := f.info.Size - f.fetched
	for i, lost := range ranges {
		count := max(1, remaining/(len(ranges)-i)) // each range is assumed to have lost equally many records
		remaining -= count
		losses = append(losses, lostRecords{sequenceRange: lost, info: f.info, count: count})
	}
	return losses
}

// lostRecords is a range of lost records. They are lost because Lambda discarded their batch, and the stream has
// trimmed them.
//
// The ends of the range are exact. The number of records is an estimate: Lambda's count minus the fetched records,
// divided among the lost ranges of the batch. If the event source mapping has filters or a ParallelizationFactor above
// 1, the range also has records of other batches. The number is then only a hint.
type lostRecords struct {
	sequenceRange
	info  *batchInfo
	count int // at least 1
}

// gap returns the gap that the lost records leave in their shard.
func (l lostRecords) gap() record.Gap {
	return record.Gap{
		StreamARN: l.info.StreamARN, Shard: l.info.ShardID, After: addToSequence(l.first, -1),
		Before: addToSequence(l.last, 1), From: l.info.From, To: l.info.To,
	}
}

// addToSequence returns sequence plus delta, but at least "0". If sequence is not a number, it returns sequence.
func addToSequence(sequence string, delta int64) string {
	number, ok := new(big.Int).SetString(sequence, 10)
	if !ok {
		return sequence
	}
	number.Add(number, big.NewInt(delta))
	if number.Sign() < 0 {
		return "0"
	}
	return number.String()
}

// logLoss logs lost records.
func (h *handler) logLoss(ctx context.Context, l lostRecords, text string) {
	h.options.log.LogAttrs(ctx, slog.LevelError, text,
		slog.String("stream", l.info.StreamARN), slog.String("shard", l.info.ShardID), slog.String("first", l.first),
		slog.String("last", l.last),
		slog.Int("records_about", l.count), slog.Time("from", l.info.From), slog.Time("to", l.info.To))
}
