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
	newestIterator string // iterator after the record that was newest at the start; "" if unknown or no longer needed
	stopAt         string // sequence number of the first record written after the recording started; "" while unknown
	hasGap         bool   // the stream dropped unread records, perhaps also the record at stopAt

	iterator     string
	lastSequence string // sequence number of the last record read
	emptyPages   int    // pages in a row without a record
}

// readToEnd reads the shard to its end, or to the end of the recording.
func (s *shardReader) readToEnd(ctx context.Context) shardEnd {
	for {
		if err := s.findStop(ctx); err != nil || s.isPastStop() {
			return shardEnd{shard: s.shard, err: err}
		}
		page, gone, err := s.read(ctx)
		if err != nil || gone {
			return shardEnd{shard: s.shard, closed: true, err: err}
		}
		reached, err := s.write(page.Page)
		switch {
		case err != nil:
			return shardEnd{shard: s.shard, err: err}
		case page.Ended:
			return shardEnd{shard: s.shard, closed: true}
		case reached, s.isFinished():
			return shardEnd{shard: s.shard}
		}
		s.iterator = page.NextIterator
		if s.open && s.emptyPages > 0 {
			if err := pipeline.Sleep(ctx, s.o.Poll); err != nil {
				return shardEnd{shard: s.shard, err: err}
			}
		}
	}
}

// isPastStop reports whether the record at stopAt, or a later one, was already read. That happens if the record was
// read before stopAt was known. The reader must then stop at once. It must not wait for a later record, because there
// may be none.
func (s *shardReader) isPastStop() bool {
	return s.stopAt != "" && s.lastSequence != "" && record.CompareSequence(s.lastSequence, s.stopAt) >= 0
}

// isFinished reports whether the reader stops at an open shard whose last page was empty. With Idle, it stops once the
// recording got no record of any shard for that long. Without Idle, it stops after enough empty pages in a row, unless
// the record at stopAt is still to come.
func (s *shardReader) isFinished() bool {
	switch {
	case !s.open || s.emptyPages == 0:
		return false
	case s.o.Idle > 0:
		return s.writer.idleTime() >= s.o.Idle
	}
	return (s.stopAt == "" || s.hasGap) && s.emptyPages >= s.o.EmptyPages
}

// findStop searches for the first record written after the recording started. If it finds the record, it sets stopAt.
func (s *shardReader) findStop(ctx context.Context) error {
	if s.newestIterator == "" {
		return nil
	}
	page, err := s.api.GetRecords(ctx, RecordsQuery{Iterator: s.newestIterator, StreamARN: s.arn(), Shard: s.shard})
	at := ShardPosition{StreamARN: s.arn(), Shard: s.shard}
	switch {
	case errors.Is(err, ErrExpiredIterator):
		at.Type = Latest // a later stop is correct too: only more records are recorded
	case errors.Is(err, ErrTrimmed):
		at.Type = TrimHorizon // all records left were written after the start of the recording
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
		case err == nil && at.Type == TrimHorizon: // a record after the start exists: find stopAt before writing
			if err = pipeline.Sleep(ctx, s.o.Poll); err == nil {
				return s.findStop(ctx)
			}
		}
		return err
	}
	s.newestIterator = page.NextIterator
	for line := range recordLines(page.Page) {
		if line.sequence != "" {
			s.stopAt, s.newestIterator = line.sequence, ""
			break
		}
	}
	return nil
}

// read returns the next page. gone reports that the shard no longer exists.
func (s *shardReader) read(ctx context.Context) (page record.GetRecordsPage, gone bool, err error) {
	for {
		if s.iterator == "" {
			at := ShardPosition{StreamARN: s.arn(), Shard: s.shard, Type: TrimHorizon}
			if s.lastSequence != "" {
				at.Type, at.Sequence = AfterSequence, s.lastSequence
			}
			s.iterator, err = s.api.GetShardIterator(ctx, at)
		}
		if err == nil {
			page, err = s.api.GetRecords(ctx, RecordsQuery{Iterator: s.iterator, StreamARN: s.arn(), Shard: s.shard})
		}
		switch {
		case err == nil:
			return page, false, nil
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

// safeRetention is the age up to which a stream keeps all records. It is an hour less than the retention, because the
// clocks of this process and of the service may differ.
const safeRetention = 23 * time.Hour

// isYoung reports whether the shard is younger than safeRetention. The stream still has all records of such a shard. If
// the stream refuses the first position as trimmed, the position is below the first record, and no record is lost.
func (s *shardReader) isYoung() bool {
	created, ok := ShardTime(s.shard)
	return ok && time.Since(created) < safeRetention
}

// write writes the records of a page up to stopAt, and reports whether it reached stopAt.
func (s *shardReader) write(p *record.Page) (reached bool, err error) {
	var lines []recordLine
	for r := range recordLines(p) {
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
