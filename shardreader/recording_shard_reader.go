package shardreader

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// shardReader reads one shard for a recording.
type shardReader struct {
	*recorder
	shard  string
	isOpen bool // the shard may get more records
	cursor ShardCursor

	newest *ShardCursor // after the newest record at the start; nil if it is unknown or no longer needed
	stopAt string       // sequence number of the first record written after the recording started; "" while unknown
	hasGap bool         // the stream dropped unread records, so the record at stopAt may never come

	lastSequence string // sequence number of the last record that was written
	emptyPages   int    // pages in a row without a record
}

// newReader returns a reader of a shard. newest is an iterator after the newest record; "" if it is unknown.
func (r *recorder) newReader(shard, newest string) *shardReader {
	at := ShardPosition{StreamARN: r.writer.recording.Stream.ARN, Shard: shard, Type: TrimHorizon}
	s := &shardReader{recorder: r, shard: shard, isOpen: r.lineage.mayGrow(shard)}
	s.cursor = ShardCursor{API: r.api, Position: at}
	if newest != "" {
		at.Type = Latest
		s.newest = &ShardCursor{API: r.api, Position: at, Iterator: newest}
	}
	return s
}

// readToEnd reads the shard to its end, or to the end of the recording. ended is as in shardEnd.
func (s *shardReader) readToEnd(ctx context.Context) (ended bool, err error) {
	for {
		if err := s.findStop(ctx); err != nil {
			return false, err
		}
		// The record at stopAt may have been read before stopAt was known. The reader must not wait for a later record,
		// because there may be none.
		if s.reachesStop(s.lastSequence) {
			return false, nil
		}
		page, err := s.read(ctx)
		if errors.Is(err, ErrNotFound) {
			s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence, Whole: true})
			return true, nil
		}
		if err != nil {
			return false, err
		}
		reachesStop, err := s.write(page.Page)
		if err != nil {
			return false, err
		}
		if page.Ended || reachesStop || s.isIdle() {
			return page.Ended, nil
		}
		if s.isOpen && s.emptyPages > 0 {
			if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
				return false, err
			}
		}
	}
}

// reachesStop reports whether a sequence number is that of the record at stopAt, or of a later record. The sequence
// number may be "".
func (s *shardReader) reachesStop(sequence string) bool {
	return s.stopAt != "" && sequence != "" && record.CompareSequence(sequence, s.stopAt) >= 0
}

// isIdle reports whether the reader stops at an open shard whose last page was empty. With Idle, it stops once the
// recording got no record of any shard for the time Idle. Without Idle, it stops after EmptyPages empty pages in a row,
// unless the record at stopAt is still to come.
func (s *shardReader) isIdle() bool {
	if !s.isOpen || s.emptyPages == 0 {
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
	if s.newest == nil {
		return nil
	}
	page, err := s.newest.Next(ctx)
	for errors.Is(err, ErrTrimmed) {
		// All records left were written after the start of the recording, so the oldest record left is at stopAt.
		s.newest.Restart()
		if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
			return err
		}
		page, err = s.newest.Next(ctx)
	}
	switch {
	case errors.Is(err, ErrExpiredIterator): // a later stop is correct too: only more records are recorded
		return nil
	case errors.Is(err, ErrNotFound):
		s.newest = nil
		return nil
	case err != nil:
		return err
	}
	s.stopAt = page.Page.FirstSequence()
	if s.stopAt != "" || page.Ended {
		s.newest = nil
	}
	return nil
}

// read returns the next page. It adds a gap if the stream dropped unread records. The error wraps ErrNotFound if the
// shard no longer exists.
func (s *shardReader) read(ctx context.Context) (record.GetRecordsPage, error) {
	for {
		page, err := s.cursor.Next(ctx)
		switch {
		case errors.Is(err, ErrTrimmed):
			s.noteTrimmed()
			if err := pipeline.Sleep(ctx, s.options.Poll); err != nil {
				return page, err
			}
		case errors.Is(err, ErrExpiredIterator): // the next call requests a new iterator
		default:
			return page, err
		}
		if ctx.Err() != nil {
			return page, context.Cause(ctx)
		}
	}
}

// noteTrimmed continues at the oldest record left. It adds a gap unless no record can be lost.
func (s *shardReader) noteTrimmed() {
	s.cursor.Restart()
	if s.lastSequence == "" && s.isYoung() {
		return
	}
	s.writer.addGap(record.Gap{StreamARN: s.arn(), Shard: s.shard, After: s.lastSequence})
	s.lastSequence, s.hasGap = "", true
}

// safeRetention is the age up to which a stream keeps all records. It is an hour less than the retention, because the
// clocks of this process and of the service may differ.
const safeRetention = 23 * time.Hour

// isYoung reports whether the shard is younger than safeRetention. The stream still has all records of such a shard. A
// position that it refuses as trimmed is then below the first record, and no record is lost.
func (s *shardReader) isYoung() bool {
	created, ok := ShardTime(s.shard)
	return ok && time.Since(created) < safeRetention
}

// write writes the records of a page up to stopAt, and reports whether the page reaches stopAt.
func (s *shardReader) write(page *record.Page) (reachesStop bool, err error) {
	var records []record.PageRecord
	for r := range page.Records() {
		if s.reachesStop(r.Sequence) {
			reachesStop = true
			break
		}
		s.lastSequence = cmp.Or(r.Sequence, s.lastSequence)
		records = append(records, r)
	}
	s.emptyPages++
	if page.Len() > 0 {
		s.emptyPages = 0
	}
	return reachesStop, s.writer.write(records, page.EmptyMaps)
}

func (s *shardReader) arn() string { return s.writer.recording.Stream.ARN }
