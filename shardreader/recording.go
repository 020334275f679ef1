package shardreader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

// RecordOptions configure a recording.
type RecordOptions struct {
	API    API    // required
	Source string // required: the ARN of a stream; or the name or ARN of a table, for its newest stream

	// Idle ends the recording once no record was received for this long. Default (0): the recording ends after the
	// records that were the newest at its start.
	Idle time.Duration

	// EmptyPages is the number of empty pages in a row after which an open shard counts as read up to its newest
	// record. One page is not enough, because the service returns empty pages in the middle of a shard too. Default: 20
	EmptyPages int

	// Mask masks the records. It leaves out records that cannot be decoded, because their sensitive attributes are
	// unknown. Default: all records are written unchanged
	Mask *mask.Mask

	Poll time.Duration // pause after an empty page of an open shard. Default: 250ms

	Attempts int                  // maximum number of tries of a call; the API may add its own retries. Default: 8
	Progress func(RecordProgress) // called when the counts have changed, never concurrently. Default: not called
}

// RecordProgress holds the counts of a recording so far.
type RecordProgress struct {
	Records    int64
	Bytes      int64 // bytes written
	ShardsDone int
	Shards     int // known shards
}

// Recording is the result of a recording.
type Recording struct {
	Stream StreamRef
	RecordProgress
	Undecodable int64 // number of Records that cannot be decoded; they are written unchanged
	Masked      int64 // number of Records with a masked attribute
	// LeftOut is the number of records that were not written because they cannot be decoded and RecordOptions.Mask is
	// set. Records does not count them.
	LeftOut   int64
	EmptyMaps int64        // number of values {} that were read as empty maps; DynamoDB Local sends such values
	Gaps      []record.Gap // records that the stream had dropped already
}

// Record copies a stream to w. Each line is the JSON of one record, with the stream's ARN as eventSourceARN. Replay
// takes the table and the versions of the changes from the ARN. Parents come before their children, so that the changes
// of an item keep their order.
//
// Record starts at the oldest record. Without Idle, it reads an open shard up to the first record that was written
// after the start. If no such record comes, it reads the shard until EmptyPages empty pages have come in a row. Records
// that the stream has dropped are in Recording.Gaps, and are not an error. If Record returns an error, w has only a
// part of the records.
func Record(ctx context.Context, w io.Writer, o RecordOptions) (Recording, error) {
	switch {
	case o.API == nil:
		return Recording{}, errs.New("record: API is missing")
	case o.Source == "":
		return Recording{}, errs.New("record: Source is empty: name a table or a stream ARN")
	case o.Idle < 0 || o.EmptyPages < 0 || o.Poll < 0 || o.Attempts < 0:
		return Recording{}, errs.New("record: Idle, EmptyPages, Poll and Attempts must not be negative")
	}
	o.EmptyPages = cmp.Or(o.EmptyPages, 20)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.Attempts = cmp.Or(o.Attempts, 8)
	if o.Progress == nil {
		o.Progress = func(RecordProgress) {}
	}
	api := newRetryingAPI(o.API, o.Attempts, pipeline.Retryable)
	stream, err := FindStream(ctx, api, o.Source)
	if err != nil {
		return Recording{}, fmt.Errorf("record %s: %w", o.Source, err)
	}
	r := &recorder{
		options: o,
		api:     api,
		writer: recordWriter{w: w, mask: o.Mask, recording: Recording{Stream: stream}, progress: o.Progress,
			lastRecord: time.Now()},
		readers: newShardReaders(),
	}
	if err = r.run(ctx); err != nil {
		err = fmt.Errorf("record %s: %w", o.Source, err)
	}
	return r.writer.recording, err
}

// recorder reads all shards of a stream, each shard in its own goroutine.
type recorder struct {
	options RecordOptions
	api     API
	writer  recordWriter
	lineage lineage
	readers shardReaders
}

// run reads each shard after its parents, until all shards are read. If a shard fails, run starts no more readers,
// cancels the others, waits until they have ended, and returns the first error.
func (r *recorder) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		r.readers.wait()
	}()
	if err := r.list(ctx); err != nil {
		return err
	}
	newest, err := r.stopIterators(ctx)
	if err != nil {
		return err
	}
	for {
		for _, s := range r.lineage.readyShards() {
			reader := r.newReader(s.ID, newest[s.ID])
			r.readers.start(s.ID, func() (ended bool, err error) { return reader.readToEnd(ctx) })
		}
		if r.readers.running == 0 {
			return nil
		}
		end := <-r.readers.ends
		r.readers.running--
		if end.err != nil {
			return end.err
		}
		if err := r.afterShard(ctx, end); err != nil {
			return err
		}
	}
}

// stopIterators returns, by shard id, iterators that show where the readers of the open shards stop. It returns nil if
// Idle is set, because Idle then ends the recording.
func (r *recorder) stopIterators(ctx context.Context) (map[string]string, error) {
	if r.options.Idle > 0 {
		return nil, nil
	}
	return newestIterators(ctx, r.api, r.writer.recording.Stream.ARN, &r.lineage)
}

// list adds the shards that are listed now.
func (r *recorder) list(ctx context.Context) error {
	d, err := ListShards(ctx, r.api, r.writer.recording.Stream.ARN)
	if err != nil {
		return err
	}
	r.lineage.add(d.Shards)
	r.writer.addShardsDone(0, len(r.lineage.order))
	return nil
}

// afterShard makes the children of a shard ready. With Idle it also lists the shards again, because an open shard may
// have got children. Without Idle it does not: children that appear later have only records from after the start.
func (r *recorder) afterShard(ctx context.Context, end shardEnd) error {
	r.lineage.markFinished(end.shard)
	r.writer.addShardsDone(1, len(r.lineage.order))
	if r.options.Idle > 0 && end.ended && r.lineage.mayGrow(end.shard) {
		return r.list(ctx)
	}
	return nil
}

// newestIterators returns an iterator for each open shard, by shard id. The iterator is after the newest record of the
// shard, so it finds only records that are written later. If the service answers that the position is trimmed, or that
// the shard is gone, the shard is left out. The reader of the shard finds out which of the two is true.
func newestIterators(ctx context.Context, api API, streamARN string, l *lineage) (map[string]string, error) {
	newest := make(map[string]string)
	for _, s := range l.order {
		if !l.mayGrow(s.ID) {
			continue
		}
		iterator, err := api.GetShardIterator(ctx, ShardPosition{StreamARN: streamARN, Shard: s.ID, Type: Latest})
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrTrimmed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		newest[s.ID] = iterator
	}
	return newest, nil
}
