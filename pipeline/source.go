package pipeline

import (
	"context"

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
