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
	var incomplete *eventRecords // records of the event, if the event lacks some records of the batch
	if event := r.event(); event != nil {
		b, err := h.decodeEvent(event, r.origin())
		if err != nil && r.DynamoDB == nil {
			return nil, nil, err
		}
		if err == nil && r.hasSizeOf(b) {
			return b, nil, nil
		}
		incomplete = b
	}
	if r.DynamoDB == nil {
		return nil, nil, errs.New(
			"the message names records of a Kinesis stream, which this handler does not read: give the event source mapping an S3 on-failure destination, which keeps the records, and read these records from the stream by hand while it keeps them")
	}
	return h.fetchFromStream(ctx, limits, r.DynamoDB, incomplete)
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
	f := &rangeFetch{api: h.options.streams, info: info}
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
	api     shardreader.API
	info    *batchInfo
	records eventRecords

	fetched      int    // number of fetched records
	lastSequence string // sequence number of the newest fetched record

	at            shardreader.ShardPosition // of the next iterator
	iterator      string                    // of the next page; "" if it must be requested
	iteratorCount int                       // number of requested iterators

	mayBeTrimmed bool        // the stream trimmed records, so records of the range before the next page may be lost
	lostRanges   []lostRange // lost ranges found so far, in order
	shardEnds    bool        // the shard has no record after lastSequence
}

// lostRange is a range of sequence numbers, both ends included. The stream no longer has any record of the range.
type lostRange struct{ first, last string }

func (r lostRange) contains(sequence string) bool {
	return record.CompareSequence(r.first, sequence) <= 0 && record.CompareSequence(sequence, r.last) <= 0
}

const (
	// maxEmptyPages is the number of empty pages in a row after which a fetch ends. It is high, because the service
	// also returns empty pages in the middle of a shard.
	maxEmptyPages  = 20
	emptyPagePause = 250 * time.Millisecond
	// maxIterators is the maximum number of iterators of one fetch. A new iterator replaces an iterator that expired,
	// or whose record was trimmed.
	maxIterators = 5
	// maxAge is the stream's retention of 24 hours, plus one hour because clocks differ.
	maxAge = 25 * time.Hour
)

// next returns the next page. The error wraps [shardreader.ErrNotFound] if the shard or the stream does not exist any
// more.
func (f *rangeFetch) next(ctx context.Context) (record.GetRecordsPage, error) {
	for {
		page, err := f.requestPage(ctx)
		mayReplaceIterator := f.iteratorCount < maxIterators
		switch {
		case err == nil:
			f.iterator = page.NextIterator
			return page, nil
		case mayReplaceIterator && errors.Is(err, shardreader.ErrTrimmed):
			f.mayBeTrimmed = true
			f.iterator = ""
			f.at.Type, f.at.Sequence = shardreader.TrimHorizon, ""
		case mayReplaceIterator && errors.Is(err, shardreader.ErrExpiredIterator):
			f.iterator = ""
			if f.lastSequence != "" {
				f.at.Type, f.at.Sequence = shardreader.AfterSequence, f.lastSequence
			}
		default:
			return page, err
		}
	}
}

// requestPage requests a page, and before it an iterator if there is none.
func (f *rangeFetch) requestPage(ctx context.Context) (page record.GetRecordsPage, err error) {
	if f.iterator == "" {
		f.iteratorCount++
		f.iterator, err = f.api.GetShardIterator(ctx, f.at)
		if err != nil {
			return page, err
		}
	}
	query := shardreader.RecordsQuery{Iterator: f.iterator, StreamARN: f.at.StreamARN, Shard: f.at.Shard}
	return f.api.GetRecords(ctx, query)
}

// readRange reads until the end of the range or of the shard.
func (f *rangeFetch) readRange(ctx context.Context) error {
	f.at = shardreader.ShardPosition{StreamARN: f.info.StreamARN, Shard: f.info.ShardID,
		Type: shardreader.AtSequence, Sequence: f.info.First}
	emptyPages := 0
	for {
		page, err := f.next(ctx)
		if errors.Is(err, shardreader.ErrNotFound) {
			f.shardEnds = true
			return nil
		}
		if err != nil {
			return err
		}
		isEmpty := len(page.Page.Changes)+len(page.Page.Errors) == 0
		rangeEnds := f.reachesLast(page.Page)
		f.keepInRange(page.Page)
		if rangeEnds {
			return nil
		}
		if page.Ended {
			f.shardEnds = true
			return nil
		}
		if !isEmpty {
			emptyPages = 0
			continue
		}
		emptyPages++
		if emptyPages > maxEmptyPages {
			if f.mayBeTrimmed && f.info.isExpired(time.Now()) {
				f.shardEnds = true // the range is trimmed, and the shard may never get a later record
				return nil
			}
			return errs.Errorf("%d pages in a row are empty", emptyPages)
		}
		if pipeline.Sleep(ctx, emptyPagePause) != nil {
			return ctx.Err()
		}
	}
}

// isExpired reports whether the range is so old that the stream has trimmed all its records. It returns false if the
// age of the range is unknown.
func (p *batchInfo) isExpired(at time.Time) bool { return !p.To.IsZero() && at.Sub(p.To) > maxAge }

// reachesLast reports whether a page reaches the end of the range.
func (f *rangeFetch) reachesLast(page *record.Page) bool {
	for _, sequence := range recordsIn(page) {
		if sequence != "" && record.CompareSequence(sequence, f.info.Last) >= 0 {
			return true
		}
	}
	return false
}

// keepInRange adds the records of a page that are in the range and were not added before.
func (f *rangeFetch) keepInRange(page *record.Page) {
	if f.mayBeTrimmed {
		f.noteTrimmed(page)
	}
	page.Changes = slices.DeleteFunc(page.Changes, func(c record.Change) bool { return f.isOutside(c.Sequence) })
	page.Errors = slices.DeleteFunc(page.Errors, func(e *record.RecordError) bool { return f.isOutside(e.Sequence) })
	kept := len(page.Changes) + len(page.Errors)
	if kept == 0 {
		return
	}
	before, rest := splitBeforeError(page)
	f.records.add(f.info.ShardID, before)
	f.records.add(f.info.ShardID, rest)
	f.fetched += kept
	for _, c := range page.Changes {
		f.lastSequence = c.Sequence
	}
	for _, e := range page.Errors {
		if record.CompareSequence(e.Sequence, f.lastSequence) > 0 {
			f.lastSequence = e.Sequence
		}
	}
}

// isOutside reports whether a record is outside the range or was added before. A record without a sequence number
// counts as inside.
func (f *rangeFetch) isOutside(sequence string) bool {
	if sequence == "" {
		return false
	}
	isAdded := f.lastSequence != "" && record.CompareSequence(sequence, f.lastSequence) <= 0
	return isAdded || record.CompareSequence(sequence, f.info.First) < 0 ||
		record.CompareSequence(sequence, f.info.Last) > 0
}

// noteTrimmed compares the oldest record that the stream still has with the range. It adds the part of the range before
// this record to lostRanges.
func (f *rangeFetch) noteTrimmed(page *record.Page) {
	oldest := ""
	for _, sequence := range recordsIn(page) {
		if oldest == "" || sequence != "" && record.CompareSequence(sequence, oldest) < 0 {
			oldest = sequence
		}
	}
	if oldest == "" {
		return // an empty page
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
	f.lostRanges = append(f.lostRanges, lostRange{f.nextSequence(), lastLost})
}

// nextSequence returns the first sequence number of the range after the fetched records.
func (f *rangeFetch) nextSequence() string {
	if f.lastSequence == "" {
		return f.info.First
	}
	return addToSequence(f.lastSequence, 1)
}

// allLostRanges returns the ranges that [rangeFetch.noteTrimmed] noted. If the shard ends before the range, it also
// returns the rest of the range after the fetched records.
func (f *rangeFetch) allLostRanges() []lostRange {
	hasFetchedAll := f.lastSequence != "" && record.CompareSequence(f.lastSequence, f.info.Last) >= 0
	if !f.shardEnds || hasFetchedAll {
		return f.lostRanges
	}
	return append(slices.Clip(f.lostRanges), lostRange{f.nextSequence(), f.info.Last})
}

// fillFromEvent adds the records of the event that are in lost ranges of the stream. incomplete may be nil.
func (f *rangeFetch) fillFromEvent(incomplete *eventRecords) {
	lostRanges := f.allLostRanges()
	if incomplete == nil || len(lostRanges) == 0 {
		return
	}
	isFetched := func(sequence string) bool {
		return !slices.ContainsFunc(lostRanges, func(r lostRange) bool { return r.contains(sequence) })
	}
	var found eventRecords
	for _, page := range incomplete.pages {
		page.Changes = slices.DeleteFunc(page.Changes, func(c record.Change) bool { return isFetched(c.Sequence) })
		page.Errors = slices.DeleteFunc(page.Errors, func(e *record.RecordError) bool { return isFetched(e.Sequence) })
		found.add(f.info.ShardID, &page.Page)
	}
	f.fetched += found.size()
	f.records.pages = append(found.pages, f.records.pages...)
}

// losses returns the lost ranges with their estimated numbers of lost records. The event may have some records of a
// lost range. They do not count as lost.
func (f *rangeFetch) losses() (losses []lostRecords) {
	ranges := f.allLostRanges()
	remaining := f.info.Size - f.fetched
	for i, lost := range ranges {
		count := max(1, remaining/(len(ranges)-i)) // each range is assumed to have lost equally many records
		remaining -= count
		losses = append(losses, lostRecords{lostRange: lost, info: f.info, count: count})
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
	lostRange
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
