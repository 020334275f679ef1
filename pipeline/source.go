package pipeline

import "context"

// Position is how far a source has been read within a partition: opaque to the
// pipeline, resumable by the source that made it.
type Position string

// Page is what one read brings: the records of one partition, in order.
type Page struct {
	Partition  string
	Position   Position // reading goes on behind it
	Changes    []Change
	Errors     []*RecordError // records that could not be decoded; Index places them among the changes
	Duplicates int            // records left out because the source knows that it delivered them before
	End        bool           // the partition ends with this page
	Bytes      int            // memory that the page pins
	EmptyMaps  int            // {} taken as the empty map (DecoderOptions.DynamoDBLocal)
}

// Source brings pages. Read blocks until a page is there, ctx is done, or the
// source ends with io.EOF. It may return a page together with an error: the page
// counts. Only one goroutine calls Read.
type Source interface {
	Read(ctx context.Context) (*Page, error)
}

// Committer learns how far a partition is finished: every change up to p is
// durable in every sink that it was routed to. Positions of a partition come in
// the order of their pages. It may block; an error is retried.
type Committer interface {
	Commit(ctx context.Context, partition string, p Position) error
}
