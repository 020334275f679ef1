package pipeline

import (
	"context"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Position is how far a source has been read within a partition: opaque to the
// pipeline, resumable by the source that made it.
type Position string

// Page is what one read brings: the records of one partition, in order.
//
// A source may hand over a page undecoded, so that pages are decoded in
// parallel: it sets Partition, Position, End and Bytes, and Decode, as in
//
//	page := &Page{Partition: "0", Position: pos, Decode: func() (*DecodedPage, error) { return dec.Decode(b) }}
//	page.Bytes = len(b)
type Page struct {
	record.Page
	Partition string
	Position  Position // reading goes on behind it
	End       bool     // the partition ends with this page
	Tracker   *Tracker // learns which records are finished; nothing of the page is committed then. Default: nobody asks

	// Decode, if set, brings what the page holds. A worker of the pipeline
	// calls it once, at the same time as those of other pages; it must be pure. The
	// DecodedPage that it returns replaces the one that Read returned; the larger Bytes
	// of the two counts. An error
	// counts as if Read had returned it beside the page: what was decoded before
	// it is delivered, and of this partition nothing behind it.
	Decode func() (*record.Page, error)
}

// Source brings pages. Read blocks until a page is there, ctx is done, or the
// source ends with io.EOF. It may return a page together with an error: the page
// counts. An error other than io.EOF stops the pipeline softly: what was read is
// delivered and committed (of a [Controlled] source for at most StopTimeout), then Run
// returns the error; so a source retries by itself what is worth it. Only one goroutine
// calls Read.
type Source interface {
	Read(ctx context.Context) (*Page, error)
}

// SourceFunc makes a function a Source.
type SourceFunc func(ctx context.Context) (*Page, error)

// Read calls f.
func (f SourceFunc) Read(ctx context.Context) (*Page, error) { return f(ctx) }

// Pauser is implemented by sources that read their partitions apart from each
// other. Where little room is left, the pipeline pauses a partition that holds more than its
// share of the bounds, or much of what failed, and resumes it when there is room. Shares are
// of the partitions that hold something. Pause returns at once, may be called while Read
// blocks, and is never called concurrently. Once it has returned, Read should bring no page of
// the partition, also none that was read ahead: it would use the room of other partitions.
type Pauser interface {
	Pause(partition string, paused bool)
}

// Committer learns how far a partition is finished: every change up to p is
// durable, in each sink that it was routed to or in dead letters. Positions of a
// partition come in the order of their pages, one call at a time; positions may be
// skipped, and partitions are committed concurrently. It may block; an error is retried,
// unless it is marked with Fatal, which stops the pipeline.
type Committer interface {
	Commit(ctx context.Context, partition string, p Position) error
}

// CommitterFunc makes a function a Committer.
type CommitterFunc func(ctx context.Context, partition string, p Position) error

// Commit calls f.
func (f CommitterFunc) Commit(ctx context.Context, partition string, p Position) error {
	return f(ctx, partition, p)
}

// Control is what a source can ask of the run that reads it. All methods return at once and are safe for concurrent use.
// They accept partitions of which nothing was read yet, and do nothing after the run has ended. [Pauser.Pause] and
// [Controlled.Control] must not call them.
type Control interface {
	// Drain has the run write all changes of partitions without waiting for batches to fill: those that were read, and
	// those that are read later. A source calls it if something waits for these changes.
	Drain(partitions ...string)

	// RevokeSoft takes partitions away from the run, but lets Writes in flight finish. A source calls it if the time
	// left is too short to begin anything. No Write starts with a change of partitions. Queued changes are counted as
	// [Revoked], and so are changes that fail from now on. Changes that a Write in flight delivers are finished. Nothing
	// of partitions is committed any more. A later Revoke of partitions is possible. Do not use their names again in
	// the same run.
	RevokeSoft(partitions ...string)

	// Revoke takes partitions away from the run, because another consumer reads them now. Queued changes of partitions
	// are counted as [Revoked]. The run cancels Writes that hold such changes, with cause as the cause of their
	// context, and tries changes of other partitions in them again at once. Nothing of partitions is committed any more,
	// although a Commit in flight may finish. Pages that no sink has received yet, and later ones, are dropped and
	// counted nowhere. Do not use the names of partitions again in the same run.
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

// Tracker tells which records of a page are finished, for a source that answers for
// each of them and not for the page. The zero Tracker is ready for use, for one page of
// one run; it may be asked at any time, by any goroutine.
//
// Of a page that has one, what can never be written goes back at once where there are no
// dead letters, with what stands behind it in its key's order, and the run does not wait: the
// source brings it again.
type Tracker struct {
	begun   atomic.Bool
	pending []atomic.Int32 // deliveries not finished, by the record's index
}

// Finished tells whether the record of that index in its page, as [record.Change.Index] and
// RecordError.Index have it, is finished: durable in each sink that it was routed to, or
// in dead letters, or of none of them. What was given back by [Control] is not, and
// nothing of a page is before it was handed to the sinks.
func (t *Tracker) Finished(index int) bool {
	return t.begun.Load() && (index >= len(t.pending) || t.pending[index].Load() == 0)
}

// begin notes what is to be done. No sink has begun with it.
func (t *Tracker) begin(prep *preparedPage) {
	last := -1 // a source may have put its records into an order of its own
	for r := range prep.routes {
		for i := range prep.routes[r].deliveries {
			last = max(last, int(prep.routes[r].deliveries[i].d.Change.Index))
		}
	}
	t.pending = make([]atomic.Int32, last+1)
	for r := range prep.routes {
		for i := range prep.routes[r].deliveries {
			t.pending[prep.routes[r].deliveries[i].d.Change.Index].Add(1)
		}
	}
	t.begun.Store(true)
}

// finish notes the end of a delivery that was not given back.
func (t *Tracker) finish(index int) { t.pending[index].Add(-1) }

// GapStore keeps the gaps of a pipeline.
type GapStore interface {
	// AddGap blocks until g is durable or ctx is done. It replaces the gap of the same StreamARN, Shard and
	// After, so that a caller may repeat it until it succeeds, and complete a gap later.
	AddGap(ctx context.Context, g record.Gap) error
}

// GapFunc makes a function a GapStore.
type GapFunc func(ctx context.Context, g record.Gap) error

// AddGap calls f.
func (f GapFunc) AddGap(ctx context.Context, g record.Gap) error { return f(ctx, g) }
