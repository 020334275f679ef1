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
	newestIterator string // iterator after the newest record at the start; "" if unknown or no longer needed
	stopAt         string // sequence number of the first record written after the recording started; "" while unknown
	hasGap         bool   // the stream dropped unread records, and perhaps the record at stopAt

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
		page, err := s.read(ctx)
		if errors.Is(err, ErrNotFound) {
			s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence, Whole: true})
			return shardEnd{shard: s.shard, ended: true}
		}
		if err != nil {
			return shardEnd{shard: s.shard, err: err}
		}
		reachesStop, err := s.write(page.Page)
		switch {
		case err != nil:
			return shardEnd{shard: s.shard, err: err}
		case page.Ended:
			return shardEnd{shard: s.shard, ended: true}
		case reachesStop || s.isFinished():
			return shardEnd{shard: s.shard}
		}
		s.iterator = page.NextIterator
		if s.open && s.emptyPages > 0 {
			if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
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
// recording got no record of any shard for the time Idle. Without Idle, it stops after EmptyPages empty pages in a row,
// unless the record at stopAt is still to come.
func (s *shardReader) isFinished() bool {
	if !s.open || s.emptyPages == 0 {
		return false
	}
	if s.options.Idle > 0 {
		return s.writer.idleTime() >= s.options.Idle
	}
	stopWillCome := s.stopAt != "" && !s.hasGap
	return !stopWillCome && s.emptyPages >= s.options.EmptyPages
}

// findStop searches for the first record written after the recording started. If it finds the record, it sets stopAt.
func (s *shardReader) findStop(ctx context.Context) error {
	if s.newestIterator == "" {
		return nil
	}
	page, err := s.api.GetRecords(ctx, RecordsQuery{Iterator: s.newestIterator, StreamARN: s.arn(), Shard: s.shard})
	switch {
	case err == nil:
		s.newestIterator = page.NextIterator
		s.stopAtFirst(page.Page)
		return nil
	case errors.Is(err, ErrExpiredIterator):
		return s.renewNewest(ctx, Latest) // a later stop is correct too: only more records are recorded
	case errors.Is(err, ErrTrimmed):
		// All records left were written after the start of the recording. So the first record left is the one at
		// stopAt.
		err := s.renewNewest(ctx, TrimHorizon)
		if err != nil || s.newestIterator == "" {
			return err
		}
		if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
			return err
		}
		return s.findStop(ctx)
	case errors.Is(err, ErrNotFound):
		s.newestIterator = ""
		return nil
	}
	return err
}

// stopAtFirst sets stopAt to the first sequence number of a page, if the page has one.
func (s *shardReader) stopAtFirst(page *record.Page) {
	for line := range recordLines(page) {
		if line.sequence != "" {
			s.stopAt, s.newestIterator = line.sequence, ""
			return
		}
	}
}

// renewNewest replaces newestIterator. It sets newestIterator to "" if the shard no longer exists.
func (s *shardReader) renewNewest(ctx context.Context, kind IteratorType) (err error) {
	s.newestIterator, err = s.api.GetShardIterator(ctx, ShardPosition{StreamARN: s.arn(), Shard: s.shard, Type: kind})
	if errors.Is(err, ErrNotFound) {
		s.newestIterator = ""
		return nil
	}
	return err
}

// read returns the next page. It adds a gap if the stream dropped unread records. The error wraps ErrNotFound if the
// shard no longer exists.
func (s *shardReader) read(ctx context.Context) (record.GetRecordsPage, error) {
	for {
		page, err := s.requestPage(ctx)
		switch {
		case err == nil:
			return page, nil
		case errors.Is(err, ErrExpiredIterator):
		case errors.Is(err, ErrTrimmed):
			if s.lastSequence != "" || !s.isYoung() {
				s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence})
				s.lastSequence, s.hasGap = "", true
			}
			if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
				return record.GetRecordsPage{}, err
			}
		default:
			return record.GetRecordsPage{}, err
		}
		if ctx.Err() != nil {
			return record.GetRecordsPage{}, context.Cause(ctx)
		}
		s.iterator = ""
	}
}

// requestPage requests a page, and before it an iterator if there is none.
func (s *shardReader) requestPage(ctx context.Context) (page record.GetRecordsPage, err error) {
	if s.iterator == "" {
		at := ShardPosition{StreamARN: s.arn(), Shard: s.shard, Type: TrimHorizon}
		if s.lastSequence != "" {
			at.Type, at.Sequence = AfterSequence, s.lastSequence
		}
		s.iterator, err = s.api.GetShardIterator(ctx, at)
		if err != nil {
			return page, err
		}
	}
	return s.api.GetRecords(ctx, RecordsQuery{Iterator: s.iterator, StreamARN: s.arn(), Shard: s.shard})
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

// write writes the records of a page up to stopAt, and reports whether the page reaches stopAt.
func (s *shardReader) write(page *record.Page) (reachesStop bool, err error) {
	var lines []recordLine
	for line := range recordLines(page) {
		reachesStop = s.stopAt != "" && line.sequence != "" && record.CompareSequence(line.sequence, s.stopAt) >= 0
		if reachesStop {
			break
		}
		if line.sequence != "" {
			s.lastSequence = line.sequence
		}
		lines = append(lines, line)
	}
	s.emptyPages++
	if len(page.Changes)+len(page.Errors) > 0 {
		s.emptyPages = 0
	}
	return reachesStop, s.writer.write(lines, page.EmptyMaps)
}

func (s *shardReader) arn() string { return s.writer.recording.Stream.ARN }
