package shardreader

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// shardReader reads one shard for a recording.
type shardReader struct {
	*recorder
	shard          string
	open           bool
	newestIterator string // iterator behind the records that were there at the start; "" where it is not known or not needed
	stopAt         string // sequence number of the first record after the start, once it is known
	hasGap         bool   // records were dropped before they were read; stop may be one of them

	iterator     string
	lastSequence string // sequence number of the last record read
	emptyPages   int    // pages in a row without a record
}

// run reads the shard up to its end, or to where the recording ends.
func (s *shardReader) run(ctx context.Context) shardEnd {
	for {
		if err := s.findStop(ctx); err != nil {
			return shardEnd{shard: s.shard, err: err}
		}
		answer, gone, err := s.read(ctx)
		if err != nil || gone {
			return shardEnd{shard: s.shard, closed: true, err: err}
		}
		reached, err := s.write(answer.Page)
		switch {
		case err != nil:
			return shardEnd{shard: s.shard, err: err}
		case answer.Ended:
			return shardEnd{shard: s.shard, closed: true}
		case reached, s.isFinished():
			return shardEnd{shard: s.shard}
		}
		s.iterator = answer.NextIterator
		if s.open && s.emptyPages > 0 {
			if err := pipeline.Sleep(ctx, s.o.Poll); err != nil {
				return shardEnd{shard: s.shard, err: err}
			}
		}
	}
}

// over tells whether a shard that gives no more has been read far enough.
func (s *shardReader) isFinished() bool {
	switch {
	case !s.open || s.emptyPages == 0:
		return false
	case s.o.Idle > 0:
		return s.writer.idleTime() >= s.o.Idle
	}
	return (s.stopAt == "" || s.hasGap) && s.emptyPages >= s.o.EmptyPages
}

// lookBehind asks whether something was written after the start, until it knows what came first.
func (s *shardReader) findStop(ctx context.Context) error {
	if s.newestIterator == "" {
		return nil
	}
	answer, err := s.api.GetRecords(ctx, RecordsQuery{Iterator: s.newestIterator, StreamARN: s.arn(), Shard: s.shard})
	at := ShardPosition{StreamARN: s.arn(), Shard: s.shard}
	switch {
	case errors.Is(err, ErrExpiredIterator):
		at.Type = Latest // reading up to a later record is as good: it only records more
	case errors.Is(err, ErrTrimmed):
		at.Type = TrimHorizon // what is left comes behind the start
	case errors.Is(err, ErrNotFound):
		s.newestIterator = ""
		return nil
	case err != nil:
		return err
	}
	if at.Type != "" {
		s.newestIterator, err = s.api.GetShardIterator(ctx, at)
		switch {
		case errors.Is(err, ErrNotFound):
			s.newestIterator, err = "", nil
		case err == nil && at.Type == TrimHorizon: // there is something, which must not be read before it is known
			if err = pipeline.Sleep(ctx, s.o.Poll); err == nil {
				return s.findStop(ctx)
			}
		}
		return err
	}
	s.newestIterator = answer.NextIterator
	for i := range records(answer.Page) {
		if i.sequence != "" {
			s.stopAt, s.newestIterator = i.sequence, ""
			break
		}
	}
	return nil
}

// read is the next page. gone tells that the stream has dropped the shard.
func (s *shardReader) read(ctx context.Context) (answer record.GetRecordsPage, gone bool, err error) {
	for {
		if s.iterator == "" {
			at := ShardPosition{StreamARN: s.arn(), Shard: s.shard, Type: TrimHorizon}
			if s.lastSequence != "" {
				at.Type, at.Sequence = AfterSequence, s.lastSequence
			}
			s.iterator, err = s.api.GetShardIterator(ctx, at)
		}
		if err == nil {
			answer, err = s.api.GetRecords(ctx, RecordsQuery{Iterator: s.iterator, StreamARN: s.arn(), Shard: s.shard})
		}
		switch {
		case err == nil:
			return answer, false, nil
		case errors.Is(err, ErrExpiredIterator):
		case errors.Is(err, ErrTrimmed):
			if s.lastSequence != "" || !s.isYoung() {
				s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence})
				s.lastSequence, s.hasGap = "", true
			}
			if err := pipeline.Sleep(ctx, s.o.Poll); err != nil {
				return record.GetRecordsPage{}, false, err
			}
		case errors.Is(err, ErrNotFound):
			s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence, Whole: true})
			return record.GetRecordsPage{}, true, nil
		default:
			return record.GetRecordsPage{}, false, err
		}
		if err := ctx.Err(); err != nil {
			return record.GetRecordsPage{}, false, context.Cause(ctx)
		}
		s.iterator, err = "", nil
	}
}

// young reports whether the shard is younger than what the stream keeps. Nothing of it can be dropped
// then, and a position in it that is refused as trimmed is below its first record.
func (s *shardReader) isYoung() bool {
	const keeps = 23 * time.Hour // an hour less than the stream does: clocks differ
	made, ok := ShardTime(s.shard)
	return ok && time.Since(made) < keeps
}

// write writes what was there at the start, and tells whether it came to what was not.
func (s *shardReader) write(p *record.Page) (reached bool, err error) {
	var lines []recordLine
	for r := range records(p) {
		if s.stopAt != "" && r.sequence != "" && record.CompareSequence(r.sequence, s.stopAt) >= 0 {
			reached = true
			break
		}
		if r.sequence != "" {
			s.lastSequence = r.sequence
		}
		lines = append(lines, r)
	}
	if s.emptyPages++; len(p.Changes)+len(p.Errors) > 0 {
		s.emptyPages = 0
	}
	return reached, s.writer.write(lines, p.EmptyMaps)
}

func (s *shardReader) arn() string { return s.writer.recording.Stream.ARN }
