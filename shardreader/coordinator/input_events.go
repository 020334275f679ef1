package coordinator

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Event is an input of a coordinator. For each action with a Call, the caller sends one event with the same Call. The
// order of these events does not matter. They must be sent also after [Stopped]. If a call never returns, the caller
// sends the event with a transient error.
type Event interface{ handle(c *Coordinator) }

// Call is the number of a call, and of its result.
type Call uint64

type (
	// Tick reports that time passed. It must be sent at Coordinator.Wake, and may be sent at any time.
	Tick struct{}

	// Shutdown begins a soft stop: the pages that were read are drained and checkpointed, and the leases are released.
	Shutdown struct{}

	// PipelineEnded reports that the pipeline ended: it acknowledges no more pages. The coordinator stops as after
	// Shutdown, and releases the leases at their durable positions.
	PipelineEnded struct{}

	// Acked reports that a partition is durable up to the page with Position.
	Acked struct {
		Partition string
		Position  pipeline.Position
	}

	// PageTaken reports that the pipeline took the oldest delivered page of a partition.
	PageTaken struct{ Partition string }

	// Paused reports that reading of a partition must pause, or may continue.
	Paused struct {
		Partition string
		Paused    bool
	}

	// ListStreamsResult answers ListStreams.
	ListStreamsResult struct {
		Call
		Page shardreader.StreamPage
		Err  error
	}

	// DescribeStreamResult answers DescribeStream.
	DescribeStreamResult struct {
		Call
		Description shardreader.StreamDescription
		Err         error
	}

	// GetShardIteratorResult answers GetShardIterator.
	GetShardIteratorResult struct {
		Call
		Iterator string
		Err      error
		WallTime time.Time // as in GetRecordsResult
	}

	// GetRecordsResult answers GetRecords. If Err is set, the records are ignored.
	GetRecordsResult struct {
		Call
		Records  record.GetRecordsPage
		Err      error
		WallTime time.Time // when the result came, by the clock that dates records; zero: unknown
	}

	// ReadTableResult answers ReadTable.
	ReadTableResult struct {
		Call
		Snapshot leases.Snapshot
		Err      error
	}

	// WriteResult answers CreateLease, SwapLease, DeleteLease, WriteHeartbeat, RemoveMember, MarkBegun and NoteGap.
	WriteResult struct {
		Call
		Err error
	}

	// ReserveCallResult answers ReserveCall. Count is the quota's count now. OK reports whether the right was taken.
	ReserveCallResult struct {
		Call
		Count int64
		OK    bool
		Err   error
	}
)

func (Tick) handle(*Coordinator)                       {}
func (Shutdown) handle(c *Coordinator)                 { c.shutdown() }
func (PipelineEnded) handle(c *Coordinator)            { c.abandon() }
func (e ListStreamsResult) handle(c *Coordinator)      { c.routeResult(e.Call, e) }
func (e DescribeStreamResult) handle(c *Coordinator)   { c.routeResult(e.Call, e) }
func (e GetShardIteratorResult) handle(c *Coordinator) { c.routeResult(e.Call, e) }
func (e GetRecordsResult) handle(c *Coordinator)       { c.routeResult(e.Call, e) }
func (e ReadTableResult) handle(c *Coordinator)        { c.routeResult(e.Call, e) }
func (e WriteResult) handle(c *Coordinator)            { c.routeResult(e.Call, e) }
func (e ReserveCallResult) handle(c *Coordinator)      { c.routeResult(e.Call, e) }
