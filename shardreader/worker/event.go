package worker

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Event is an input of a worker. One event with the same Call answers each action that has a Call, in any order, also
// after [Stopped]. If an answer never comes, the caller answers with a transient error.
type Event interface{ handle(w *Worker) }

// Call names a call and its answer.
type Call uint64

type (
	// Tick reports that time passed: to be sent when Worker.Wake comes, or at any time.
	Tick struct{}

	// Shutdown begins a soft stop: the pages that are read are drained and checkpointed, and the leases released.
	Shutdown struct{}

	// Abandoned reports that the pipeline ended: it acknowledges no more pages. The worker stops as after Shutdown, and
	// releases the leases at their durable positions.
	Abandoned struct{}

	// Acked reports that a partition is durable up to a position of a page of it.
	Acked struct {
		Partition string
		Position  pipeline.Position
	}

	// Taken reports that the pipeline took the oldest page of a partition that it was given by Deliver.
	Taken struct{ Partition string }

	// Paused reports that a partition must not be read temporarily, or may be read again.
	Paused struct {
		Partition string
		Paused    bool
	}

	// Listed answers ListStreams.
	Listed struct {
		Call
		Page shardreader.StreamPage
		Err  error
	}

	// Described answers DescribeStream.
	Described struct {
		Call
		Description shardreader.StreamDescription
		Err         error
	}

	// Positioned answers GetShardIterator.
	Positioned struct {
		Call
		Iterator string
		Err      error
		At       time.Time // as that of Read
	}

	// Read answers GetRecords. With an error the answer is ignored.
	Read struct {
		Call
		Answer record.GetRecordsPage
		Err    error
		At     time.Time // when it came, by the clock that dates records; zero: unknown
	}

	// Seen answers ReadTable.
	Seen struct {
		Call
		Snapshot leases.Snapshot
		Err      error
	}

	// Done answers Create, Swap, Delete, Beat, Leave, Begin and NoteGap.
	Done struct {
		Call
		Err error
	}

	// Reserved answers Reserve.
	Reserved struct {
		Call
		Count int64
		OK    bool
		Err   error
	}
)

func (Tick) handle(*Worker)           {}
func (Shutdown) handle(w *Worker)     { w.shutdown() }
func (Abandoned) handle(w *Worker)    { w.abandon() }
func (e Listed) handle(w *Worker)     { answer(w, e.Call, e) } // streamSearch
func (e Described) handle(w *Worker)  { answer(w, e.Call, e) } // describeRequest
func (e Positioned) handle(w *Worker) { answer(w, e.Call, e) } // positioning
func (e Read) handle(w *Worker)       { answer(w, e.Call, e) } // pageRequest
func (e Seen) handle(w *Worker)       { answer(w, e.Call, e) } // refresh
func (e Done) handle(w *Worker)       { answer(w, e.Call, e) } // leaseWrite, heartbeat, leaseSync, gapNote, farewell
func (e Reserved) handle(w *Worker)   { answer(w, e.Call, e) } // reservation
