package pipeline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Position is how far a partition has been read. The pipeline does not interpret it. The source that made it can resume
// reading there.
type Position string

// Page has the records of one read of one partition, in order.
//
// A source can return a page undecoded, so that pages are decoded in parallel. It then sets Partition, Position, End,
// Bytes and Decode:
//
//	page := &Page{Partition: "0", Position: pos, Decode: func() (*record.Page, error) { return dec.Decode(b) }}
//	page.Bytes = len(b)
type Page struct {
	record.Page
	Partition string
	Position  Position // a later read continues after it
	End       bool     // the partition ends with this page
	Tracker   *Tracker // reports which records are finished; such a page is never committed. Default: none

	// Decode, if set, returns the content of the page. The pipeline calls it once, concurrently with those of other
	// pages, so it must be pure. Its result replaces the record.Page that Read returned; the larger Bytes of the two
	// counts. An error has the effect of an error that Read returns with the page: the records decoded before it are
	// delivered, and nothing after them in this partition.
	Decode func() (*record.Page, error)
}

// Decoded returns the content of the page, for those who run no pipeline: what Decode returns, if that is set. It is
// never nil. After an error it has the records decoded before. The larger Bytes of the two counts.
func (p *Page) Decoded() (*record.Page, error) {
	if p.Decode == nil {
		return &p.Page, nil
	}
	decoded, err := p.Decode()
	if decoded == nil {
		decoded = &record.Page{}
	}
	decoded.Bytes = max(decoded.Bytes, p.Bytes)
	return decoded, err
}

// DecodedPages yields the decoded pages of a source up to its end, for those who run no pipeline. An error ends the
// sequence. The page beside it is not nil, and has the records before the error.
func DecodedPages(ctx context.Context, src Source) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		for {
			page, err := src.Read(ctx)
			ended := errors.Is(err, io.EOF)
			if ended {
				err = nil
			}
			decoded := &record.Page{}
			if page != nil {
				var decodeErr error
				decoded, decodeErr = page.Decoded()
				err = cmp.Or(err, decodeErr)
			}
			if ended && page == nil || !yield(decoded, err) || ended || err != nil {
				return
			}
		}
	}
}

// Source returns pages. Read blocks until a page is available, ctx is done, or the source ends with io.EOF. It can
// return a page together with an error: the page counts.
//
// After any other error than io.EOF the pipeline stops softly: it delivers and commits what was read, for a
// [Controlled] source for at most StopTimeout, and then Run returns the error. So a source retries transient errors
// itself. Only one goroutine calls Read.
type Source interface {
	Read(ctx context.Context) (*Page, error)
}

// SourceFunc makes a function a Source.
type SourceFunc func(ctx context.Context) (*Page, error)

// Read calls f.
func (f SourceFunc) Read(ctx context.Context) (*Page, error) { return f(ctx) }

// Pauser is implemented by sources that can read each partition independently. When memory runs short, the pipeline
// pauses a partition that uses more than its share of it, or that has many failed changes. It resumes the partition
// when there is memory again. Only partitions that use memory have a share.
//
// Pause returns at once. It can be called while Read blocks, and is never called concurrently. After Pause has
// returned, Read should return no page of the partition, not even one that was read ahead: such a page would use the
// memory of other partitions.
type Pauser interface {
	Pause(partition string, paused bool)
}

// Committer stores how far a partition is finished: every change up to p is durable, in each sink that it was routed to
// or in dead letters.
//
// Positions of a partition come in the order of their pages, one call at a time, and some can be skipped. Commits of
// different partitions are concurrent. Commit may block. The pipeline repeats it after an error, unless the error is
// marked with Fatal, which stops the run.
type Committer interface {
	Commit(ctx context.Context, partition string, p Position) error
}

// CommitterFunc makes a function a Committer.
type CommitterFunc func(ctx context.Context, partition string, p Position) error

// Commit calls f.
func (f CommitterFunc) Commit(ctx context.Context, partition string, p Position) error {
	return f(ctx, partition, p)
}

// Control is what a source can ask of the run that reads it. All methods return at once and are safe for concurrent
// use. They accept partitions of which nothing was read yet, and do nothing after the run has ended. [Pauser.Pause] and
// [Controlled.Control] must not call them.
type Control interface {
	// Drain has the run write all changes of partitions without waiting for batches to fill: those that were read, and
	// those that are read later. A source calls it if something waits for these changes.
	Drain(partitions ...string)

	// RevokeSoft takes partitions away from the run, but lets Writes in flight finish. A source calls it if the time
	// left is too short to begin anything. No Write starts with a change of partitions. Queued changes are counted as
	// [Revoked], and so are changes that fail from now on. Changes that a Write in flight delivers are finished.
	// Nothing of partitions is committed any more. A later Revoke of partitions is possible. Do not use their names
	// again in the same run.
	RevokeSoft(partitions ...string)

	// Revoke takes partitions away from the run, because another consumer reads them now. Queued changes of partitions
	// are counted as [Revoked]. The run cancels Writes that hold such changes, with cause as the cause of their
	// context, and tries changes of other partitions in them again at once. Nothing of partitions is committed any
	// more, although a Commit in flight may finish. Pages that no sink has received yet, and later ones, are dropped
	// and counted nowhere. Do not use the names of partitions again in the same run.
	//
	// A call costs time for all queued changes, so revoke many partitions with one call.
	Revoke(cause error, partitions ...string)

	// Forget announces that Read has returned all pages of partitions, and was called again since. It is valid for
	// revoked partitions too. The run drops its state of a partition once all its pages are finished and committed, as
	// after a page with End.
	Forget(partitions ...string)

	// Fail has the effect of a Read that returns err. It works also while the run does not call Read because memory is
	// full.
	Fail(err error)
}

// Controlled is implemented by sources that control their run. Run calls Control once before the first Read, and once
// with nil at its end, when no goroutine of the run is left.
type Controlled interface {
	Control(c Control)
}

// Tracker reports which records of a page are finished, for a source that acknowledges single records instead of pages.
// The zero Tracker is ready for use. It is for one page of one run, and safe for concurrent use.
//
// In a page with a Tracker, and without dead letters, a change that can never be written returns to the source at once,
// with the later changes of its key, and the run does not wait for it. The source must bring these records again.
type Tracker struct {
	begun   atomic.Bool
	pending []atomic.Int32 // unfinished deliveries, by the index of the record
}

// Finished reports whether the record with that index in its page ([record.Change.Index], RecordError.Index) is
// finished: it is durable in each sink that it was routed to or in dead letters, or no sink gets it. Revoked records
// are not finished, and no record is before its page was handed to the sinks.
func (t *Tracker) Finished(index int) bool {
	return t.begun.Load() && (index >= len(t.pending) || t.pending[index].Load() == 0)
}

// begin counts the deliveries of a page, before any sink receives them.
func (t *Tracker) begin(page *preparedPage) {
	last := -1 // a source can return records in another order than that of Index
	for r := range page.routes {
		for i := range page.routes[r].deliveries {
			last = max(last, int(page.routes[r].deliveries[i].d.Change.Index))
		}
	}
	t.pending = make([]atomic.Int32, last+1)
	for r := range page.routes {
		for i := range page.routes[r].deliveries {
			t.pending[page.routes[r].deliveries[i].d.Change.Index].Add(1)
		}
	}
	t.begun.Store(true)
}

// finish counts the end of a delivery that was not revoked.
func (t *Tracker) finish(index int) { t.pending[index].Add(-1) }

// GapStore stores the gaps of a pipeline.
type GapStore interface {
	// AddGap blocks until g is durable or ctx is done. It replaces a gap with the same StreamARN, Shard and After. So a
	// caller can repeat it until it succeeds, and complete a gap later.
	AddGap(ctx context.Context, g record.Gap) error
}

// GapFunc makes a function a GapStore.
type GapFunc func(ctx context.Context, g record.Gap) error

// AddGap calls f.
func (f GapFunc) AddGap(ctx context.Context, g record.Gap) error { return f(ctx, g) }
