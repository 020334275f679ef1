package handlers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// salvage brings the records of a batch that Lambda gave up: out of the event where that is
// kept, else out of the stream. losses are what is lost of them.
func (h *handler) salvage(ctx context.Context, cuts cuts, r *invocation) (b *batch, losses []loss, err error) {
	from := fromDynamoDB
	if r.Kinesis != nil {
		from = fromKinesis
	}
	var held *batch // what is kept, if that is not all
	if event := r.event(); event != nil {
		b, err := h.open(event, from)
		switch {
		case err == nil && b.size() > 0 && (r.DynamoDB == nil || r.DynamoDB.Size <= 0 || b.size() == r.DynamoDB.Size):
			return b, nil, nil
		case err == nil:
			held = b
		case r.DynamoDB == nil:
			return nil, nil, err
		}
	}
	switch {
	case r.DynamoDB == nil:
		return nil, nil, errs.New("the message tells the place of records in a Kinesis stream, from which nothing is fetched here: give the event source mapping an S3 on-failure destination, which keeps the records, and read these ones from the stream by hand while it keeps them")
	case h.o.streams == nil:
		return nil, nil, errs.New("the message tells the place of records, and this function does not read streams: give handlers.WithStreams")
	}
	if err := r.DynamoDB.check(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := cuts.context(ctx)
	defer cancel()
	f := &fetch{api: h.o.streams, of: r.DynamoDB}
	if err := f.all(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return nil, nil, errs.Errorf("the records cannot be fetched from the stream now: %w", err)
	}
	f.fill(held)
	return &f.batch, f.losses(), nil
}

// fetch reads a range of a shard.
type fetch struct {
	api   shardreader.API
	of    *position
	batch batch

	count int    // records fetched
	last  string // the newest of them

	torn       bool   // what comes before the next record may be lost
	holes      []hole // found so far, in order
	incomplete bool   // the shard holds nothing behind last
}

// hole is a range of sequence numbers, both ends included, of which the stream keeps nothing.
type hole struct{ first, last string }

const (
	// The service returns empty pages in the middle of a shard too.
	mostEmptyPages = 20
	emptyPagePause = 250 * time.Millisecond
	// An iterator that is taken anew, because it expired or what it points to was dropped.
	mostIterators = 5
	// A stream keeps records for 24 hours; an hour more, as clocks differ.
	mostAge = 25 * time.Hour
)

// all reads until the range is passed, or the shard is.
func (f *fetch) all(ctx context.Context) error {
	at := shardreader.ShardPosition{StreamARN: f.of.StreamARN, Shard: f.of.ShardID, Type: shardreader.AtSequence, Sequence: f.of.First}
	var iterator string
	for empty, taken := 0, 0; ; {
		var answer pipeline.Answer
		var err error
		if iterator == "" {
			taken++
			iterator, err = f.api.GetShardIterator(ctx, at)
		}
		if err == nil {
			answer, err = f.api.GetRecords(ctx, shardreader.RecordsQuery{Iterator: iterator, StreamARN: at.StreamARN, Shard: at.Shard})
		}
		switch {
		case err == nil:
		case errors.Is(err, shardreader.ErrNotFound): // the shard is gone, or the stream
			f.incomplete = true
			return nil
		case taken >= mostIterators:
			return err
		case errors.Is(err, shardreader.ErrTrimmed):
			at.Type, at.Sequence, iterator, f.torn = shardreader.TrimHorizon, "", "", true
			continue
		case errors.Is(err, shardreader.ErrExpiredIterator):
			if iterator = ""; f.last != "" {
				at.Type, at.Sequence = shardreader.AfterSequence, f.last
			}
			continue
		default:
			return err
		}
		held := len(answer.Page.Changes) + len(answer.Page.Errors)
		passed := f.take(answer.Page)
		switch {
		case passed:
			return nil
		case answer.Ended:
			f.incomplete = true
			return nil
		}
		iterator = answer.NextIterator
		if empty++; held > 0 {
			empty = 0
		}
		if empty > mostEmptyPages && f.torn && f.of.tooOld(time.Now()) {
			f.incomplete = true // nothing is left of it, and no record may ever come behind it
			return nil
		}
		if empty > mostEmptyPages {
			return errs.Errorf("%d pages in a row came empty", empty)
		}
		if empty > 0 && pipeline.Sleep(ctx, emptyPagePause) != nil {
			return ctx.Err()
		}
	}
}

// tooOld reports whether the stream keeps nothing any more that was written when the range was.
func (p *position) tooOld(at time.Time) bool { return !p.To.IsZero() && at.Sub(p.To) > mostAge }

// take keeps of a page what is of the range; passed tells that the range ends in it.
func (f *fetch) take(page *pipeline.Page) (passed bool) {
	newest := ""
	outside := func(sequence string) bool {
		if sequence == "" {
			return false // nobody knows
		}
		if pipeline.CompareSequence(sequence, newest) > 0 {
			newest = sequence
		}
		return pipeline.CompareSequence(sequence, f.of.First) < 0 || pipeline.CompareSequence(sequence, f.of.Last) > 0 ||
			f.last != "" && pipeline.CompareSequence(sequence, f.last) <= 0
	}
	if f.torn {
		f.mend(page)
	}
	page.Changes = slices.DeleteFunc(page.Changes, func(c pipeline.Change) bool { return outside(c.Sequence) })
	page.Errors = slices.DeleteFunc(page.Errors, func(e *pipeline.RecordError) bool { return outside(e.Sequence) })
	if n := len(page.Changes) + len(page.Errors); n > 0 {
		page.Partition = f.of.ShardID
		sound, rest := apart(page)
		f.batch.add(sound)
		f.batch.add(rest)
		f.count += n
		for _, c := range page.Changes {
			f.last = c.Sequence
		}
		for _, e := range page.Errors {
			if pipeline.CompareSequence(e.Sequence, f.last) > 0 {
				f.last = e.Sequence
			}
		}
	}
	return newest != "" && pipeline.CompareSequence(newest, f.of.Last) >= 0
}

// mend sees, by the oldest record that is left, what the stream dropped of the range.
func (f *fetch) mend(page *pipeline.Page) {
	oldest := ""
	see := func(sequence string) {
		if sequence != "" && (oldest == "" || pipeline.CompareSequence(sequence, oldest) < 0) {
			oldest = sequence
		}
	}
	for i := range page.Changes {
		see(page.Changes[i].Sequence)
	}
	for _, e := range page.Errors {
		see(e.Sequence)
	}
	if oldest == "" {
		return // an empty page
	}
	f.torn = false
	if pipeline.CompareSequence(oldest, cmp.Or(f.last, f.of.First)) <= 0 {
		return // it reaches back far enough
	}
	to := f.of.Last
	if pipeline.CompareSequence(oldest, to) <= 0 {
		to = step(oldest, -1)
	}
	f.holes = append(f.holes, hole{f.next(), to})
}

// next is the sequence number from which on nothing is fetched yet.
func (f *fetch) next() string {
	if f.last == "" {
		return f.of.First
	}
	return step(f.last, 1)
}

// lost are the holes of the range: one for each time that the stream dropped what came next,
// and one for what is missing at its end.
func (f *fetch) lost() []hole {
	if f.incomplete && (f.last == "" || pipeline.CompareSequence(f.last, f.of.Last) < 0) {
		return append(f.holes[:len(f.holes):len(f.holes)], hole{f.next(), f.of.Last})
	}
	return f.holes
}

// fill takes out of the event what the stream keeps no more. held is nil where there is none.
func (f *fetch) fill(held *batch) {
	holes := f.lost()
	if held == nil || len(holes) == 0 {
		return
	}
	fetched := func(sequence string) bool {
		return !slices.ContainsFunc(holes, func(h hole) bool {
			return pipeline.CompareSequence(h.first, sequence) <= 0 && pipeline.CompareSequence(sequence, h.last) <= 0
		})
	}
	var all batch
	for _, page := range held.pages {
		page.Partition = f.of.ShardID
		page.Changes = slices.DeleteFunc(page.Changes, func(c pipeline.Change) bool { return fetched(c.Sequence) })
		page.Errors = slices.DeleteFunc(page.Errors, func(e *pipeline.RecordError) bool { return fetched(e.Sequence) })
		all.add(page)
	}
	f.count += all.size()
	f.batch.pages = append(all.pages, f.batch.pages...)
}

// losses are the holes and how many records each had. An event may hold a part of their records.
func (f *fetch) losses() []loss {
	holes := f.lost()
	var losses []loss
	left := f.of.Size - f.count
	for i, lost := range holes {
		n := max(1, left/(len(holes)-i)) // nobody knows where they were: they are shared out
		left -= n
		losses = append(losses, loss{lost, f.of, n})
	}
	return losses
}
