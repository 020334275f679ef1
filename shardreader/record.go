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

// RecordOptions say what to record.
type RecordOptions struct {
	API    API    // required
	Source string // required: a table's name or ARN (its newest stream), or a stream's ARN

	// Idle makes a recording follow the stream until no record came for this long.
	// Default (0): it ends at the newest records that were there when it started.
	Idle time.Duration

	// EmptyPages is how many pages in a row must come empty before an open shard
	// counts as read up to its newest record. The service returns empty pages in
	// the middle of a shard too, and has no other way to tell. Default: 20
	EmptyPages int

	// Mask masks what is hidden of the records. Those that cannot be decoded are left out
	// then: of these nobody can tell what is hidden. Default: they are written as they came
	Mask *mask.Mask

	Poll time.Duration // pause behind an empty page of an open shard. Default: 250ms

	Calls    int                  // calls of the API at once. Default: 8
	Attempts int                  // tries of a call that fails for a transient reason, beside the API's own. Default: 8
	Backoff  pipeline.Backoff     // between them
	Progress func(RecordProgress) // told after every page, one call at a time. Default: not told
}

// RecordProgress is how far a recording has come.
type RecordProgress struct {
	Records    int64
	Bytes      int64 // written
	ShardsDone int
	Shards     int // known
}

// Recording is what was recorded.
type Recording struct {
	Stream StreamRef
	RecordProgress
	Undecodable int64        // of Records: written as they came
	Masked      int64        // of Records: something in them is masked
	LeftOut     int64        // beside Records: not decodable, where others are masked
	EmptyMaps   int64        // {} taken as the empty map, as DynamoDB Local sends it
	Gaps        []record.Gap // what the stream no longer held
}

// Record copies a stream to w, one record a line, as its JSON with the stream's
// ARN added as eventSourceARN: so replay knows its table and the versions of its
// changes. Parents come before their children, so the changes of an item are in order.
//
// It starts at the oldest record. An open shard ends, without Idle, before the first record
// that was written after the start; where nothing is written any more, after
// EmptyPages empty pages. What the stream dropped meanwhile is in Recording.Gaps,
// not an error. On an error w holds a part.
func Record(ctx context.Context, w io.Writer, o RecordOptions) (Recording, error) {
	switch {
	case o.API == nil:
		return Recording{}, errs.New("record: API is missing")
	case o.Source == "":
		return Recording{}, errs.New("record: Source is empty: name a table or a stream ARN")
	case o.Idle < 0 || o.EmptyPages < 0 || o.Poll < 0 || o.Calls < 0 || o.Attempts < 0:
		return Recording{}, errs.New("record: Idle, EmptyPages, Poll, Calls and Attempts must not be negative")
	}
	o.EmptyPages = cmp.Or(o.EmptyPages, 20)
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	o.Calls = cmp.Or(o.Calls, 8)
	o.Attempts = cmp.Or(o.Attempts, 8)
	if o.Progress == nil {
		o.Progress = func(RecordProgress) {}
	}
	c := newRetryingAPI(o)
	stream, err := FindStream(ctx, c, o.Source)
	if err != nil {
		return Recording{}, fmt.Errorf("record %s: %w", o.Source, err)
	}
	r := &recorder{
		o:         o,
		api:       c,
		writer:    recordWriter{w: w, mask: o.Mask, recording: Recording{Stream: stream}, progress: o.Progress, lastRecord: time.Now()},
		shardEnds: make(chan shardEnd),
	}
	err = r.run(ctx)
	if err != nil {
		err = fmt.Errorf("record %s: %w", o.Source, err)
	}
	return r.writer.recording, err
}

// recorder reads all shards of a stream, each in a goroutine of its own.
type recorder struct {
	o         RecordOptions
	api       API
	writer    recordWriter
	lineage   lineage
	shardEnds chan shardEnd
}

// shardEnd is how the reading of a shard ended.
type shardEnd struct {
	shard  string
	closed bool // it came to its end, so it may have children
	err    error
}

// run returns when every shard is read or one failed.
func (r *recorder) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := r.list(ctx); err != nil {
		return err
	}
	tails, err := r.newestIterators(ctx)
	if err != nil {
		return err
	}
	var first error
	for running := 0; ; running-- {
		for _, s := range r.lineage.ready() {
			if first != nil {
				break
			}
			running++
			reader := &shardReader{recorder: r, shard: s.ID, open: r.lineage.open(s.ID), newestIterator: tails[s.ID]}
			go func() { r.shardEnds <- reader.run(ctx) }()
		}
		if running == 0 {
			return first
		}
		end := <-r.shardEnds
		if end.err == nil {
			end.err = r.finish(ctx, end)
		}
		if end.err != nil && first == nil {
			first = end.err
			cancel()
		}
	}
}

// list takes in the shards as they are now.
func (r *recorder) list(ctx context.Context) error {
	d, err := ListShards(ctx, r.api, r.writer.recording.Stream.ARN)
	if err != nil {
		return err
	}
	r.lineage.add(d.Shards)
	r.writer.noteShards(0, len(r.lineage.order))
	return nil
}

// finish lets the children of a shard start. One that followed the stream to the
// end of a shard looks for children that came meanwhile; else they hold nothing
// from before the start.
func (r *recorder) finish(ctx context.Context, end shardEnd) error {
	r.lineage.finish(end.shard)
	r.writer.noteShards(1, len(r.lineage.order))
	if r.o.Idle > 0 && end.closed && r.lineage.open(end.shard) {
		return r.list(ctx)
	}
	return nil
}

// tails are iterators at the newest record of every open shard: what comes behind
// them was written after the start.
func (r *recorder) newestIterators(ctx context.Context) (map[string]string, error) {
	tails := make(map[string]string)
	if r.o.Idle > 0 {
		return tails, nil
	}
	for _, id := range r.lineage.order {
		if !r.lineage.open(id) {
			continue
		}
		it, err := r.api.GetShardIterator(ctx, ShardPosition{StreamARN: r.writer.recording.Stream.ARN, Shard: id, Type: Latest})
		switch {
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrTrimmed):
			continue // the reader of the shard finds and reports it
		case err != nil:
			return nil, err
		}
		tails[id] = it
	}
	return tails, nil
}
