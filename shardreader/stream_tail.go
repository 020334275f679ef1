package shardreader

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// TailOptions configure [Tail].
type TailOptions struct {
	API    API    // required
	Stream string // required: a stream's ARN

	// Started is called once, when the start position in each open shard is known. Every later change is read. shards
	// is the number of open shards. Default: not called
	Started func(shards int)

	// Retryable reports whether a failed call is tried again, and the minimum wait before the next try. Default:
	// [pipeline.Retryable]
	Retryable func(error) (after time.Duration, ok bool)

	Attempts int // maximum number of tries of a call; the API may add its own retries. Default: 8
}

// readPause is the time between two GetRecords calls of a shard. The pause leaves most of the shard's throughput to the
// consumers of the stream.
const readPause = time.Second

// relistPause is the time between the end of a shard and the listing of its children. It doubles up to maxRelistPause
// while no child is listed.
const (
	relistPause    = time.Second
	maxRelistPause = time.Minute
)

// Tail yields the records that are written to a stream from now on. A page has records of one shard, and the pages of a
// parent come before the pages of its children. Tail calls GetRecords of a shard at most once a second, keeps no
// position, and writes nothing. The pages own their bytes. Every page has records, except the empty page that comes
// with an error.
//
// The sequence ends after a disabled stream is read to its end, or with the error of ctx or of a call. The error is
// [ErrTrimmed] or [ErrNotFound] if the stream has dropped records that the tail has not read yet. It is also
// [ErrTrimmed] if a shard could not be read for 23 hours, so that the stream may have dropped records.
func Tail(ctx context.Context, o TailOptions) iter.Seq2[*record.Page, error] {
	if o.Retryable == nil {
		o.Retryable = pipeline.Retryable
	}
	o.Attempts = cmp.Or(o.Attempts, 8)
	return func(yield func(*record.Page, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		api := newRetryingAPI(o.API, o.Attempts, o.Retryable)
		t := &tailer{options: o, api: api, pages: make(chan *record.Page)}
		result := make(chan error, 1)
		go func() {
			defer close(t.pages)
			result <- t.run(ctx)
		}()
		defer func() {
			cancel()
			for range t.pages { // until run has returned
			}
		}()
		for page := range t.pages {
			if !yield(page, nil) {
				return
			}
		}
		if err := <-result; err != nil {
			yield(&record.Page{}, err)
		}
	}
}

// tailer reads the open shards of a stream and their descendants, each shard in its own goroutine.
type tailer struct {
	options TailOptions
	api     API // API that retries
	pages   chan *record.Page
	lineage lineage
	status  StreamStatus
}

// run returns once all shards of a disabled stream are read, or a shard has failed. All goroutines that it started have
// ended before it returns.
func (t *tailer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	readers := newShardReaders()
	defer func() {
		cancel()
		readers.wait()
	}()
	start := time.Now()
	newest, err := t.begin(ctx)
	if err != nil {
		return err
	}
	pause := relistPause
	for {
		for _, s := range t.lineage.readyShards() {
			r := t.newReader(s.ID, newest[s.ID], start)
			readers.start(s.ID, func() (ended bool, err error) { return true, r.readToEnd(ctx) })
		}
		var relist <-chan time.Time // nil, and never ready, if no new shards are expected
		if t.expectsShards() {
			relist = time.After(pause)
		}
		if readers.running == 0 && relist == nil {
			return nil
		}
		select {
		case end := <-readers.ends:
			readers.running--
			if end.err != nil {
				return end.err
			}
			t.lineage.markFinished(end.shard)
			pause = relistPause
		case <-relist:
			if err := t.list(ctx); err != nil {
				return err
			}
			pause = min(2*pause, maxRelistPause)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// expectsShards reports whether the stream will list more shards. A disabled stream gets no new shards.
func (t *tailer) expectsShards() bool { return t.status != Disabled && t.lineage.childless() }

// begin lists the shards, and skips the closed shards, which a tail does not read. It returns, by shard id, iterators
// after the newest records of the open shards.
func (t *tailer) begin(ctx context.Context) (newest map[string]string, err error) {
	if err := t.list(ctx); err != nil {
		return nil, err
	}
	newest, err = newestIterators(ctx, t.api, t.options.Stream, &t.lineage)
	if err != nil {
		return nil, err
	}
	open := 0
	for _, s := range t.lineage.order {
		if t.lineage.mayGrow(s.ID) {
			open++
		} else {
			t.lineage.markFinished(s.ID)
		}
	}
	if t.options.Started != nil {
		t.options.Started(open)
	}
	return newest, nil
}

// list adds the shards that are listed now.
func (t *tailer) list(ctx context.Context) error {
	d, err := ListShards(ctx, t.api, t.options.Stream)
	if err != nil {
		return err
	}
	t.status = d.Status
	t.lineage.add(d.Shards)
	return nil
}
