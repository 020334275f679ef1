package worker

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Event is what a worker learns. Each action that is a call (it has a Call) brings
// one event with the same Call, in any order, also after [Stopped]; a call whose
// answer never comes must be answered with an error that is transient.
type Event interface{ event() }

// Call names a call, to tie its answer to it.
type Call uint64

type (
	// Tick says that time passed: to be sent when Worker.Wake comes, or at any time.
	Tick struct{}

	// Shutdown asks for a soft stop: what is read is drained, checkpointed and let go.
	Shutdown struct{}

	// Abandoned says that the pipeline gives up: nothing more of what it was given will be
	// acknowledged. It is a Shutdown where there was none, and leases are let go as they are.
	Abandoned struct{}

	// Acked says that a partition is durable up to a position of a page of it.
	Acked struct {
		Partition string
		Position  pipeline.Position
	}

	// Taken says that the pipeline took the oldest page of a partition that it was given by Deliver.
	Taken struct{ Partition string }

	// Paused says that a partition must not be read for now, or may be read again.
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

	// Read answers GetRecords. Beside an error the answer is not looked at.
	Read struct {
		Call
		Answer pipeline.Answer
		Err    error
		At     time.Time // when it came, by a clock that dates records: says how far behind the shard is, and how old. Zero: not known
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

func (Call) event()      {}
func (Tick) event()      {}
func (Shutdown) event()  {}
func (Abandoned) event() {}
func (Acked) event()     {}
func (Taken) event()     {}
func (Paused) event()    {}
