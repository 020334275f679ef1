package pipeline

import (
	"cmp"
	"context"
	"io"
	"iter"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Position is how far a partition has been read. The pipeline does not interpret it. The source that made the position
// can resume reading there.
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
	// Tracker, if set, reports which records are finished. A page with a Tracker is never committed. Default: none
	Tracker *Tracker

	// Decode, if set, returns the content of the page. The pipeline calls it once, concurrently with the Decode of other
	// pages, so it must be pure. Its result replaces the record.Page that Read returned, but Bytes keeps the larger of
	// both values. An error of Decode has the same effect as if Read had returned the error with the page. The pipeline
	// delivers the records that were decoded before the error, and no later record of this partition.
	Decode func() (*record.Page, error)
}

// Decoded returns the content of the page, for callers that run no pipeline. If Decode is set, Decoded calls it and
// returns its result. Bytes of the result is then at least the page's Bytes. The result is never nil. After an error,
// it has the records that were decoded before the error.
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

// DecodedPages yields the decoded pages of a source up to its end, for callers that run no pipeline. An error ends the
// sequence. The page that is yielded with the error is not nil, and has the records before the error.
func DecodedPages(ctx context.Context, src Source) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		for {
			page, err := src.Read(ctx)
			isLast := IsEnd(err)
			if isLast && page == nil {
				return
			}
			if isLast {
				err = nil // the last page comes with the end
			}
			decoded := &record.Page{}
			if page != nil {
				var decodeErr error
				decoded, decodeErr = page.Decoded()
				err = cmp.Or(err, decodeErr)
			}
			if !yield(decoded, err) || isLast || err != nil {
				return
			}
		}
	}
}

// Source returns pages. Read blocks until a page is available, ctx is done, or the source ends with io.EOF. Read can
// return a page together with an error: then the page is delivered too.
//
// After any error other than io.EOF, the pipeline ends reading. It delivers and commits what was read, and then Run
// returns the error. For a [Controlled] source this lasts at most StopTimeout. Because an error ends the run, a source
// must retry transient errors itself. Only one goroutine calls Read.
type Source interface {
	Read(ctx context.Context) (*Page, error)
}

// IsEnd reports whether err is io.EOF, the end of a source or a reader. An error that wraps io.EOF is not the end: a
// server that closes the connection in place of an answer makes such an error.
func IsEnd(err error) bool { return err == io.EOF } //nolint:errorlint // see above

// SourceFunc adapts a function to a Source.
type SourceFunc func(ctx context.Context) (*Page, error)

// Read calls f.
func (f SourceFunc) Read(ctx context.Context) (*Page, error) { return f(ctx) }

// Pauser is implemented by sources that can read each partition independently. When memory runs short, the pipeline
// pauses a partition that uses more than its share of the memory, or that has many failed changes. It resumes the
// partition when there is memory again. The memory is divided among the partitions that use some of it.
//
// Pause returns at once. It can be called while Read blocks, and is never called concurrently. After Pause has
// returned, Read should return no page of the partition, not even a page that was read ahead. Such a page would use the
// memory of other partitions.
type Pauser interface {
	Pause(partition string, paused bool)
}

// Committer stores how far a partition is finished. Commit(ctx, partition, p) means that every change up to p is
// durable, in each sink that it was routed to or in dead letters.
//
// The positions of a partition come in the order of their pages, one call at a time. Some positions can be skipped.
// Commits of different partitions are concurrent. Commit may block. After an error the pipeline calls Commit again,
// unless the error is marked with Fatal, which stops the run.
type Committer interface {
	Commit(ctx context.Context, partition string, p Position) error
}

// CommitterFunc adapts a function to a Committer.
type CommitterFunc func(ctx context.Context, partition string, p Position) error

// Commit calls f.
func (f CommitterFunc) Commit(ctx context.Context, partition string, p Position) error {
	return f(ctx, partition, p)
}

// Control lets a source control the run that reads it. All methods return at once and are safe for concurrent use. They
// accept a partition before its first page was read. They do nothing after the run has ended. [Pauser.Pause] and
// [Controlled.Control] must not call them.
type Control interface {
	// Drain has the run write the changes of the given partitions without waiting for batches to fill. This applies to
	// changes that were read, and to changes that are read later. A source calls Drain if something waits for these
	// changes.
	Drain(partitions ...string)

	// RevokeSoft takes partitions away from the run, but lets Writes in flight finish. A source calls RevokeSoft if the
	// time left is too short to begin a Write. After the call, no Write starts with a change of these partitions. Their
	// queued changes are counted as [Revoked], and so are their changes that fail from now on. Changes that a Write in
	// flight delivers are finished. No position of these partitions is committed any more. Revoke can be called for
	// them later. Do not use their names again in the same run.
	RevokeSoft(partitions ...string)

	// Revoke takes partitions away from the run, because another consumer reads them now. Queued changes of these
	// partitions are counted as [Revoked]. If a Write in flight has such changes, the run cancels the Write's context
	// with cause. Changes of other partitions in a cancelled Write are tried again at once. No position of these
	// partitions is committed any more, although a Commit in flight may finish. Pages that no sink has received yet,
	// and later pages, are dropped and counted nowhere. Do not use the names of these partitions again in the same run.
	//
	// A call examines all queued changes of the run, so revoke many partitions with one call.
	Revoke(cause error, partitions ...string)

	// Forget announces that Read has returned all pages of the given partitions, and was called again since. Forget can
	// be called for revoked partitions too. It has the same effect as a page with End: the run drops its state of a
	// partition once all pages of the partition are finished and committed.
	Forget(partitions ...string)

	// Fail has the same effect as if Read had returned err. Fail works even while memory is full and the run does not
	// call Read.
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
// If the pipeline has no dead letters, a page with a Tracker is treated specially. Its changes that can never be
// written return to the source at once, with the later changes of their keys. The run does not wait for these changes.
// The source must bring their records again.
type Tracker struct {
	begun   atomic.Bool
	pending []atomic.Int32 // unfinished deliveries, by the index of the record
}

// Finished reports whether a record is finished. index is the index of the record in its page ([record.Change.Index],
// RecordError.Index). A record is finished if it is durable in each sink that it was routed to, or in dead letters. It
// is also finished if no sink receives it. Revoked records are not finished. No record is finished before its page was
// handed to the sinks.
func (t *Tracker) Finished(index int) bool {
	return t.begun.Load() && (index >= len(t.pending) || t.pending[index].Load() == 0)
}

// begin counts the deliveries of a page, before any sink receives them.
func (t *Tracker) begin(page *preparedPage) {
	highest := -1 // a source can return records in another order than that of Index
	for i := range page.routes {
		for k := range page.routes[i].deliveries {
			highest = max(highest, int(page.routes[i].deliveries[k].Change.Index))
		}
	}
	t.pending = make([]atomic.Int32, highest+1)
	for i := range page.routes {
		for k := range page.routes[i].deliveries {
			t.pending[page.routes[i].deliveries[k].Change.Index].Add(1)
		}
	}
	t.begun.Store(true)
}

// finish notes that a delivery is finished. It is not called for revoked deliveries.
func (t *Tracker) finish(index int) { t.pending[index].Add(-1) }

// GapStore stores the gaps of a pipeline: ranges of records that were lost before they were read.
type GapStore interface {
	// AddGap blocks until g is durable or ctx is done. It replaces a gap with the same StreamARN, Shard and After. So a
	// caller can repeat AddGap until it succeeds, and add the other fields of a gap later.
	AddGap(ctx context.Context, g record.Gap) error
}

// GapFunc adapts a function to a GapStore.
type GapFunc func(ctx context.Context, g record.Gap) error

// AddGap calls f.
func (f GapFunc) AddGap(ctx context.Context, g record.Gap) error { return f(ctx, g) }
